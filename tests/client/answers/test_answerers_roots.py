"""Roots, as given and as a server sees them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mcpclient.client.answers.answerers import RootsAnswerer
from mcpclient.errors import HandlerFailed, UsageError
from tests.client.scripted_server import STATELESS, ScriptedServer
from tests.support.tables import each_row

pytestmark = pytest.mark.virtual_time


def roots_of(given: Any) -> list[dict[str, Any]]:
    roots: list[dict[str, Any]] = asyncio.run(RootsAnswerer(given).answer({}, ""))["roots"]
    return roots


def test_paths_become_uris(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-10: absolute, and without detours."""
    monkeypatch.chdir(tmp_path)
    here = Path.cwd().as_uri()
    given = [tmp_path, "a b", "x/../y", Path("z")]
    expected = [f"{here}/a%20b", f"{here}/y", f"{here}/z"]
    assert [root["uri"] for root in roots_of(given)] == [tmp_path.as_uri(), *expected]


@each_row(
    ("root", "reason"),
    [
        ("https://example.com/", "begins with file://"),
        ("file:///srv/../etc", "has no .. in it"),
        ("file:///srv/%2e%2e/etc", "has no .. in it"),
        ({"uri": "/srv"}, "begins with file://"),
        ({"name": "x"}, "has a uri"),
        (7, "not 7"),
    ],
)
def test_what_is_no_root(root: Any, reason: str) -> None:
    """F-API-10: told to the caller at once."""
    with pytest.raises(UsageError, match=reason):
        RootsAnswerer([root])


def failing() -> list[str]:
    raise OSError("/home/secret")


@each_row(
    ("function", "reason"),
    [
        (failing, "raised OSError"),
        (lambda: ["http://x"], "not a root"),
        (lambda: None, "not a root"),
    ],
)
def test_a_function_that_fails(function: Any, reason: str) -> None:
    """F-API-10: an error for the server, without what went wrong here."""
    with pytest.raises(HandlerFailed) as caught:
        roots_of(function)
    assert reason in caught.value.reason
    assert "secret" not in caught.value.reason


async def test_changing_them_between_calls() -> None:
    """F-API-10: the stateless era has no such notification, and nothing to announce."""

    def call(params: Any) -> dict[str, Any]:
        if "inputResponses" in params:
            return {"content": [], "structuredContent": params["inputResponses"]}
        requests = {"r": {"method": "roots/list"}}
        return {"resultType": "input_required", "inputRequests": requests}

    server = ScriptedServer({"tools/call": call}, version=STATELESS)
    async with server.client(roots=["file:///old"]) as client:
        await client.set_roots(["file:///new"])
        result = await client.call_tool("ask")
        assert result.structured == {"r": {"roots": [{"uri": "file:///new"}]}}
        meta = server.sent("tools/call")[0]["_meta"]
        assert meta["io.modelcontextprotocol/clientCapabilities"] == {"roots": {}}
        assert not server.sent("notifications/roots/list_changed")


async def test_roots_that_were_not_declared() -> None:
    """F-API-10"""
    async with ScriptedServer().client() as client:
        with pytest.raises(UsageError, match="given before"):
            await client.set_roots([])
