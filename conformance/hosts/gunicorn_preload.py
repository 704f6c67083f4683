"""Under gunicorn with ``--preload``: the application is made once, and then the program forks."""

from collections.abc import Iterable
from typing import Any

from conformance.hosts import forked
from conformance.hosts.asking import check_echo, free_port, get, wait_for

CLIENTS = {
    "/inherited": forked.inherited,
    "/reconnecting": forked.reconnecting,
    "/own": forked.own,
}


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answer with the client that the path names."""
    word = environ["QUERY_STRING"].partition("=")[2]
    text = CLIENTS[environ["PATH_INFO"]](word)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [text.encode()]


def main() -> None:
    port = free_port()
    options = ["--preload", "--workers=2", "--log-level=error", f"-b127.0.0.1:{port}"]
    program = "conformance.hosts.gunicorn_preload:application"
    with forked.running(["gunicorn", *options, program]):
        wait_for(port)
        assert forked.REFUSAL in get(port, "/inherited?word=x")
        check_echo(port, "/reconnecting")
        check_echo(port, "/own")


if __name__ == "__main__":
    main()
