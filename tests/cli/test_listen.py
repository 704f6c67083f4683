"""``listen``: what a server says without being asked."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from mcpclient.cli.listen import line_of
from mcpclient.cli.main import main
from tests.support.subprocesses import TOP

Capture = pytest.CaptureFixture[str]

TALKING = f"""
import sys; sys.path.insert(0, {str(TOP)!r})
from tests.support.mcp_server import OpenedServer, send_result, serve_stdio

class Talking(OpenedServer):
    def take_other(self, message, params, send):
        if message["method"] != "logging/setLevel":
            super().take_other(message, params, send)
        send_result(message, send, {{}})
        send({{"method": "notifications/message", "params": {{"level": "info", "data": params}}}})
        send({{"method": "notifications/tools/list_changed"}})
        %s

serve_stdio(Talking(capabilities={{"logging": {{}}, "tools": {{"listChanged": True}}}}))
"""


def server(then: str = "pass") -> list[str]:
    return ["--protocol-version", "2025-11-25", "--", sys.executable, "-c", TALKING % then]


@pytest.mark.parametrize(
    ("method", "params", "line"),
    [
        ("notifications/message", {"level": "info", "data": "hi\x1b\n"}, r"log info: hi\x1b\n"),
        ("notifications/message", {"logger": "db", "data": [1]}, "log  db: [1]"),
        ("notifications/tools/list_changed", {"_meta": {}}, "tools/list_changed"),
        ("notifications/resources/updated", {"uri": "a"}, 'resources/updated {"uri": "a"}'),
        ("custom", {}, "custom"),
    ],
)
def test_a_notification_in_one_line(method: str, params: dict[str, Any], line: str) -> None:
    """F-SHOW-1, F-SHOW-3"""
    assert line_of(method, params) == line


def test_what_comes_is_shown_until_so_much_has_come(capsys: Capture) -> None:
    """F-SHOW-1"""
    assert main(["listen", "--count", "2", "--log-level", "debug", *server()]) == 0
    assert capsys.readouterr().out == 'log info: {"level": "debug"}\ntools/list_changed\n'


def test_each_line_is_shown_once(capsys: Capture) -> None:
    """F-SHOW-19: also an error, which would be in the library's log as well."""
    told = {"method": "notifications/message", "params": {"level": "error", "data": "hot"}}
    assert main(["listen", "--count", "3", *server(f"send({told!r})")]) == 0
    shown = capsys.readouterr()
    assert (shown.out + shown.err).count("hot") == 1


def test_in_json_each_line_is_an_object(capsys: Capture) -> None:
    """F-SHOW-2"""
    assert main(["listen", "--json", "--count", "1", *server()]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["params"] == {"level": "info", "data": {"level": "info"}}


def test_a_server_that_goes_ends_it(capsys: Capture) -> None:
    """F-SHOW-2"""
    assert main(["listen", *server("sys.exit(4)")]) == 3
    out, errors = capsys.readouterr()
    assert "tools/list_changed" in out
    assert "4" in errors


REFUSING = f"""
import sys; sys.path.insert(0, {str(TOP)!r})
from tests.support.mcp_server import OpenedServer, Refusal, serve_stdio

class Refusing(OpenedServer):
    def take_other(self, message, params, send):
        raise Refusal(-32602, "no such resource")

serve_stdio(Refusing("stateless", capabilities={{"resources": {{"subscribe": True}}}}))
"""


def test_a_refusal_is_an_error(capsys: Capture) -> None:
    """F-SHOW-2: a resource that cannot be listened to is not passed over."""
    words = ["listen", "--protocol-version", "2026-07-28", "file:///x"]
    assert main([*words, "--", sys.executable, "-c", REFUSING]) == 5
    assert "no such resource" in capsys.readouterr().err


def test_a_server_that_announces_nothing_is_listened_to(capsys: Capture) -> None:
    """F-SHOW-1: the demo server in the newest revision, until its process ends."""
    demo = str(TOP / "mcpclient" / "testing" / "demo_server.py")
    code = (
        "import runpy, threading, os; threading.Timer(1, os._exit, [3]).start(); "
        f"runpy.run_path({demo!r}, run_name='__main__')"
    )
    assert main(["listen", "--", sys.executable, "-c", code]) == 3
    assert "3" in capsys.readouterr().err
