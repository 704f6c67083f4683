"""The rules of every command hold for the host of a bridge: rights, logins, logs, proxies."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient import Client, PeerError
from mcpclient.cli.main import main
from tests.auth.world import decode_jwt
from tests.cli.test_auth import at_a_terminal, protected_server, servers
from tests.cli.test_bridge import DEMO, INITIALIZE, bridge, talk
from tests.net.peers import SocksProxy, serve
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer
from tests.support.protected import Protected

__all__ = ["at_a_terminal"]  # a fixture

pytestmark = [
    *(pytest.mark.needs_posix, pytest.mark.slow),
    pytest.mark.usefixtures("own_credentials"),
]


def calls(command: list[str]) -> str | None:
    """Call a tool as a host does, and return the text."""

    async def scenario() -> str | None:
        async with Client(command, inherit_env="all") as client:
            return (await client.call_tool("echo", {"message": "hi", "text": "hi"})).text

    return asyncio.run(scenario())


def marking(folder: Path) -> list[str]:
    """Return the command of a server that writes a file as it starts, if it may."""
    server = folder / "marking.py"
    marks = f"try: open({str(folder / 'mark')!r}, 'w').close()\nexcept OSError: pass\n"
    source = Path(DEMO[1]).read_text().replace("\nTYPE_", f"\n{marks}\nTYPE_", 1)
    server.write_text(source)
    return [sys.executable, str(server)]


def test_an_entry_that_nobody_agreed_to_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-BRIDGE-1, F-MANY-9: the host gets no server, and its user the reason."""
    monkeypatch.chdir(tmp_path)
    command, *arguments = marking(tmp_path)
    entry = {"command": command, "args": arguments}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"demo": entry}}))
    messages, errors = talk(bridge("demo"), INITIALIZE)
    assert messages == []
    assert "demo" in errors
    assert "Traceback" not in errors
    assert not (tmp_path / "mark").exists()
    assert calls(bridge("--config", str(tmp_path / ".mcp.json"), "demo")) == "hi"
    assert (tmp_path / "mark").exists()


@pytest.mark.needs_landlock
def test_a_server_in_a_sandbox_has_only_its_rights(tmp_path: Path) -> None:
    """F-BRIDGE-1, F-BOX-1: it serves the host, and cannot write."""
    server = marking(tmp_path)
    assert calls(bridge("--sandbox", "--allow-read", str(tmp_path), "--", *server)) == "hi"
    assert not (tmp_path / "mark").exists()
    assert calls(bridge("--", *server)) == "hi"
    assert (tmp_path / "mark").exists()


def test_the_audit_log_has_each_call_of_the_host(tmp_path: Path) -> None:
    """F-BRIDGE-1, F-AUDIT-1: and the start of the server; a trace has the messages to it."""
    log, trace = tmp_path / "audit.jsonl", tmp_path / "trace.jsonl"
    assert calls(bridge("--audit", str(log), "--trace", str(trace), "--", *DEMO)) == "hi"
    assert re.search('"message": ?"hi"', trace.read_text())
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["kind"], line.get("name")) for line in lines] == [
        ("start", None),
        ("call", "echo"),
    ]


async def test_a_proxy_stands_between_bridge_and_server() -> None:
    """F-BRIDGE-1, F-HTTP-15: each request passes it."""
    proxy, endpoint = SocksProxy(), StreamableEndpoint(McpServer("both"))
    async with serve(proxy.handle) as port, HttpServer(endpoint.routes) as server:
        target = f"http://behind.example:{server.url().port}/mcp"
        command = bridge("--proxy", f"socks5h://127.0.0.1:{port}", target)
        async with Client(command, inherit_env="all") as client:
            assert (await client.call_tool("echo", {"text": "hi"})).text == "hi"
    assert set(proxy.asked) == {"behind.example"}


def test_a_login_that_needs_a_browser_is_named_to_the_host(
    tmp_path: Path, at_a_terminal: list[str]
) -> None:
    """F-BRIDGE-1, F-BRIDGE-4, F-AUTH-8: with the command; after it the same host gets through.

    Behind a gateway only the calls of this server fail, with a message for the model.
    """
    file = tmp_path / "servers.json"

    async def through_a_gateway(tool: str, outcome: str) -> None:
        command = bridge("--config", str(file), "--wait", "20")
        async with Client(command, inherit_env="all", stderr="discard") as client:
            result = await client.call_tool(tool, {"message": "hi", "text": "hi"})
            assert outcome in str(result.text), result.text
            assert (await client.call_tool("demo__add", {"a": 1, "b": 2})).text == "3"

    with protected_server() as (url, protected):
        servers[:] = [protected]
        entries = {"corp": {"url": url}, "demo": {"command": DEMO[0], "args": DEMO[1:]}}
        file.write_text(json.dumps({"mcpServers": entries}))
        with pytest.raises(PeerError, match="mcpclient auth login") as refused:
            calls(bridge(url))
        assert "SECRET" not in str(refused.value)
        asyncio.run(through_a_gateway("corp__echo", f"mcpclient auth login {url}"))
        assert main(["auth", "login", url, "--no-browser"]) == 0
        assert calls(bridge(url)) == "hi"
        asyncio.run(through_a_gateway("corp__echo", "hi"))
        assert protected.counts["authorize"] == 1


class BoundTokens(Protected):
    """Its tokens are bound to a key: each request brings a proof of it."""

    proofs: list[tuple[dict[str, object], dict[str, object]]]

    async def _resource(self, request: Request, answer: Answer) -> None:
        written = answer.json

        def bound(value: Any) -> None:
            written({**value, "dpop_bound_access_tokens_required": True})

        answer.json = bound  # type: ignore[assignment,method-assign]
        await super()._resource(request, answer)

    def _issue(self, scope: str, lifetime: float | None) -> dict[str, object]:
        return {**super()._issue(scope, lifetime), "token_type": "DPoP"}

    def _guarded(self, handler: Any) -> Any:
        inner = super()._guarded(handler)

        async def guarded(request: Request, answer: Answer) -> None:
            if request.headers.get("authorization", "").startswith("DPoP "):
                self.proofs.append(decode_jwt(request.headers["dpop"]))
            await inner(request, answer)

        return guarded


def test_tokens_that_are_bound_to_a_key_are_used_with_proofs(
    at_a_terminal: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-BRIDGE-1, F-AUTH-7: a new one for each request, for its URL and its token."""
    monkeypatch.setattr("tests.cli.test_auth.Protected", BoundTokens)
    BoundTokens.proofs = []
    with protected_server() as (url, protected):
        servers[:] = [protected]
        assert main(["auth", "login", url, "--no-browser"]) == 0
        BoundTokens.proofs.clear()
        assert calls(bridge(url)) == "hi"
    claims = [claims for _, claims in BoundTokens.proofs]
    assert len(claims) >= 2
    assert {each["htu"] for each in claims} == {url}
    assert len({each["jti"] for each in claims}) == len(claims)
    assert all(each["ath"] for each in claims)
