"""The files of the reference servers, and the start of those that listen."""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from conformance import peers

# Real seconds for a server to listen.
START_LIMIT = 60

MOON_WORKSPACE = {
    ".moon/workspace.yml": "projects: ['apps/*']\n",
    "apps/web/moon.yml": "language: typescript\ntasks: {build: {command: echo built}}\n",
}


@contextlib.contextmanager
def workspace() -> Iterator[tuple[Path, str]]:
    """Make a folder with files, a git repository and a workspace of moon; serve a page of HTML."""
    with tempfile.TemporaryDirectory() as name, _page_server(Path(name, "files")) as page:
        folder = Path(name).resolve()
        (folder / "files").mkdir()
        (folder / "files" / "text.txt").write_text("Grüße\nzwei Zeilen\n", "utf-8")
        (folder / "files" / "index.html").write_text("<h1>A page</h1><p>of text</p>", "utf-8")
        _make_repository(folder / "repository", {"file.txt": "one\n"})
        _make_repository(folder / "workspace", MOON_WORKSPACE)
        yield folder, page


def _make_repository(folder: Path, files: Mapping[str, str]) -> None:
    """Make a repository with one commit, if git is there; its server does not run without."""
    git = shutil.which("git")
    if git is None:
        return
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    author = ["-c", "user.name=A. Author", "-c", "user.email=author@example.com"]
    for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "First"]):
        subprocess.run([git, *author, *arguments], cwd=folder, check=True, capture_output=True)


@contextlib.contextmanager
def _page_server(folder: Path) -> Iterator[str]:
    handler = functools.partial(_QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            serving.join()


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing: the page is only there to be fetched."""


@contextlib.contextmanager
def listening(command: list[str], environment: Mapping[str, str]) -> Iterator[int]:
    """Start a server that listens on the port in the variable PORT; stop it in the end.

    Raises RuntimeError when it does not come up.
    """
    port = free_port()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=peers.TOP,
            env={**os.environ, "PORT": str(port), **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            wait_until_it_listens(process, port)
            yield port
        finally:
            process.kill()
            process.wait()


def free_port() -> int:
    """Return a port of the loopback interface without a listener."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def wait_until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait for a server that was started; raises RuntimeError when it does not come up."""
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server exited with code {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"the server does not listen after {START_LIMIT} s")
