"""Under gunicorn with ``--preload``: the application is made once, and then the program forks."""

import os
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

from conformance.hosts.asking import check_echo, free_port, get, wait_for
from mcpclient import UsageError, sync

SERVER = [sys.executable, os.environ.get("HOSTED_SERVER", "")]
IS_WORKER = "HOSTED_SERVER" in os.environ
INHERITED = sync.connect(SERVER) if IS_WORKER else None
RECONNECTING = sync.connect(SERVER, after_fork="reconnect") if IS_WORKER else None
OWN: list[sync.Client] = []


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answer with a client made before the fork, or with one made in the worker."""
    word = environ["QUERY_STRING"].partition("=")[2]
    if environ["PATH_INFO"] == "/inherited":
        assert INHERITED is not None
        try:
            text = INHERITED.call_tool("echo", {"message": word}).text
        except UsageError as error:
            text = str(error)
    elif environ["PATH_INFO"] == "/reconnecting":
        assert RECONNECTING is not None
        text = RECONNECTING.call_tool("echo", {"message": word}).text
    else:
        if not OWN:
            OWN.append(sync.connect(SERVER))
        text = OWN[0].call_tool("echo", {"message": word}).text
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [text.encode()]


def main() -> None:
    port = free_port()
    command = ["gunicorn", "--preload", "--workers=2", "--log-level=error", f"-b127.0.0.1:{port}"]
    gunicorn = subprocess.Popen(
        [sys.executable, "-m", *command, "conformance.hosts.gunicorn_preload:application"],
        env={**os.environ, "HOSTED_SERVER": sys.argv[1]},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(port)
        assert "make another in this process" in get(port, "/inherited?word=x")
        check_echo(port, "/reconnecting")
        check_echo(port, "/own")
    finally:
        gunicorn.terminate()
        _, noise = gunicorn.communicate(timeout=20)
    assert gunicorn.returncode == 0, noise
    assert "Traceback" not in noise, noise


if __name__ == "__main__":
    main()
