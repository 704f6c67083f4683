"""The requests of this folder's programs to a web server: many things at once."""

from __future__ import annotations

import socket
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def get(port: int, path: str) -> str:
    """Return the text of a page; of an error, too."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
            return bytes(answer.read()).decode()
    except urllib.error.HTTPError as error:
        return bytes(error.read()).decode()


def wait_for(port: int) -> None:
    """Wait until something listens."""
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise TimeoutError(f"nothing listens on port {port}")


def check_echo(port: int, path: str) -> None:
    """Ask for 64 echoes over 16 threads, and compare the answers."""
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda number: get(port, f"{path}?word={number}"), range(64)))
    assert [text.strip('"') for text in found] == [str(number) for number in range(64)], found
