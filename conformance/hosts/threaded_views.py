"""In views of Flask and of Django, under a server with a thread for every request."""

import sys
import threading
from typing import Any

import django.conf
import django.core.wsgi
import django.http
import django.urls
import flask
from werkzeug.serving import make_server

from conformance.hosts.asking import check_echo, free_port
from mcpclient import sync

CLIENT = sync.connect([sys.executable, sys.argv[1]])


def echo(word: str) -> str:
    return CLIENT.call_tool("echo", {"message": word}).text


def flask_application() -> Any:
    application = flask.Flask("hosted")
    application.get("/")(lambda: echo(flask.request.args["word"]))
    return application


def view(request: Any) -> Any:
    return django.http.HttpResponse(echo(request.GET["word"]))


def django_application() -> Any:
    django.conf.settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="none")
    return django.core.wsgi.get_wsgi_application()


urlpatterns = [django.urls.path("", view)]


def main() -> None:
    for application in (flask_application(), django_application()):
        port = free_port()
        server = make_server("127.0.0.1", port, application, threaded=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            check_echo(port, "/")
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


if __name__ == "__main__":
    main()
