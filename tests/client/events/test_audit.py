"""The lines of an audit log, about calls and starts as they are made: F-AUDIT-1."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient import AuditLog
from mcpclient.client.events.audit import logs_of
from mcpclient.client.requests import connection_of
from mcpclient.errors import CallRefused, ConnectFailed, PeerError, SandboxUnavailable, UsageError
from mcpclient.net.chained_log import ChainedLog, read_log, verify_log
from tests.client.scripted_server import ScriptedServer

pytestmark = pytest.mark.virtual_time

ANSWERS: dict[str, Any] = {
    "tools/call": {"content": [{"type": "text", "text": "done"}]},
    "resources/read": {"contents": []},
    "prompts/get": {"messages": []},
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.jsonl"


def records(path: Path) -> list[dict[str, Any]]:
    assert not verify_log(path).fault
    return [line.record for line in read_log(path)]


def calls(path: Path) -> list[dict[str, Any]]:
    return [each for each in records(path) if each["kind"] == "call"]


def audited(
    option: Any, answers: Mapping[str, Any] = ANSWERS, server: Any = None, **options: Any
) -> mcpclient.Client:
    server = server or ScriptedServer(answers)
    client: mcpclient.Client = server.client(audit=option, name="demo", **options)
    return client


async def test_a_line_for_the_start_and_for_each_call(path: Path) -> None:
    """F-AUDIT-1: who, what, the decision, the outcome, and how long it took."""
    async with audited(path, {**ANSWERS, "tools/list": {"tools": []}}) as client:
        await client.call_tool("add", {"b": 1, "a": "é"})
        await client.list_tools()
        await client.read_resource("mem://1")
        await client.get_prompt("hello", {"who": "you"})
    start, *made = records(path)
    assert (start["kind"], start["server"], start["outcome"]) == ("start", "demo", "ok")
    assert start["sandbox"] is False
    assert [(each["method"], each["name"]) for each in made] == [
        ("tools/call", "add"),
        ("resources/read", "mem://1"),
        ("prompts/get", "hello"),
    ]
    for each in made:
        assert (each["decision"], each["outcome"], each["account"]) == ("allowed", "ok", "")
        assert each["process"] == os.getpid()
        assert each["user"] and each["host"]
        assert each["milliseconds"] >= 0
        assert "arguments" not in each
    digest = hashlib.sha256('{"a":"é","b":1}'.encode()).hexdigest()
    assert made[0]["arguments_sha256"] == digest


async def test_text_is_written_where_it_is_asked_for_and_never_a_secret(path: Path) -> None:
    """F-AUDIT-1: known by a name, by a schema, by its form, or in the text of an error."""
    properties = {"door": {"type": "string", "format": "password"}}
    tools = [{"name": "open", "inputSchema": {"type": "object", "properties": properties}}]
    token = "ghp_" + "a" * 30

    def fail(params: Any) -> Any:
        raise PeerError(-32000, f"no access with password=hunter22 and {token}")

    answers = {"tools/list": {"tools": tools}, "tools/call": fail}
    other = path.with_name("digests.jsonl")
    async with audited([AuditLog(path, text=True), other], answers) as client:
        await client.list_tools()
        arguments = {"door": "sesame1", "password": "sesame2", "note": token, "n": 1}
        with pytest.raises(PeerError):
            await client.call_tool("open", arguments)
        with pytest.raises(PeerError):
            await client.call_tool("open", {**arguments, "door": "other", "password": "other"})
    for secret in ("sesame", token, "hunter22"):
        assert secret not in path.read_text() + other.read_text()
    first, second = calls(path)
    shown = first["arguments"]
    assert (shown["door"], shown["n"]) == ("…", 1)
    assert all(shown[name].startswith("redacted-") for name in ("password", "note"))
    assert first["arguments_sha256"] == second["arguments_sha256"]
    assert "no access with password=redacted" in first["reason"]
    assert all("arguments" not in each for each in calls(other))


async def test_calls_that_were_refused_are_lines_too(path: Path) -> None:
    """F-AUDIT-1: by an approval, by another hook; what was asked for stands in them."""

    async def hook(call: Any, proceed: Any) -> Any:
        if call.name == "banned":
            return mcpclient.refusal("not today")
        if call.name == "odd":
            raise LookupError("odd")
        return await proceed(replace(call, arguments={"changed": True}))

    def ask(call: Any) -> Any:
        return call.name == "good" or "too risky"

    around = [hook, mcpclient.ask_unless_read_only(ask)]
    async with audited(path, around=around[:1] + around[1:], trusted=True) as client:
        await client.call_tool("good", {"a": 1})
        await client.call_tool("bad", {"a": 1})
        await client.call_tool("banned", {"a": 1})
        with pytest.raises(LookupError):
            await client.call_tool("odd")
        await client.read_resource("mem://1", around=[hook])
    found = [(each["decision"], each["by"], each["outcome"]) for each in calls(path)]
    assert found == [
        ("allowed", "approval", "ok"),
        ("refused", "approval", "refused"),
        ("refused", "hook", "refused"),
        ("refused", "hook", "LookupError"),
        ("allowed", "", "ok"),
    ]
    good, bad, banned, odd, _ = calls(path)
    assert bad["reason"] == "bad was not called: too risky"
    assert (banned["reason"], odd["reason"]) == ("not today", "odd")
    assert good["arguments_sha256"] == hashlib.sha256(b'{"changed":true}').hexdigest()
    assert banned["arguments_sha256"] == hashlib.sha256(b'{"a":1}').hexdigest()


async def test_how_a_call_ended(path: Path) -> None:
    """F-AUDIT-1: with an error of the tool, of the server, by a timeout, by its caller."""

    def answer(params: Any) -> Any:
        if params["name"] == "silent":
            return None
        return {"content": [], "isError": True}

    async with audited(path, {"tools/call": answer}) as client:
        await client.call_tool("failing")
        with pytest.raises(mcpclient.CallTimeout):
            await client.call_tool("silent", timeout=1)
        task = asyncio.ensure_future(client.call_tool("silent", timeout=0))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        with pytest.raises(UsageError):
            await client.call_tool("x", {"it": {1, 2}})
        await client.call_tools([("failing", None), ("failing", {})])
    outcomes = [each["outcome"] for each in calls(path)]
    assert outcomes[:4] == ["tool_error", "CallTimeout", "cancelled", "UsageError"]
    assert outcomes[4:] == ["tool_error"] * 2
    assert calls(path)[3]["arguments_sha256"] == ""


async def test_a_call_that_cannot_be_written_is_refused_where_that_is_required(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-AUDIT-1: before it is sent; and so is a start."""

    def fail(self: Any, record: Any) -> None:
        raise OSError(28, "No space left on device")

    server = ScriptedServer(ANSWERS)
    client = audited(AuditLog(path, required=True), server=server)
    async with client:
        monkeypatch.setattr(ChainedLog, "append", fail)
        with pytest.raises(CallRefused, match=r"calls\.jsonl cannot be written: No space left"):
            await client.call_tool("add")
        with pytest.raises(CallRefused):
            await client.get_prompt("hello")
    assert not server.sent("tools/call")
    assert not server.sent("prompts/get")
    with pytest.raises(ConnectFailed, match=r"the audit log .* cannot be written"):
        await client.connect()


async def test_a_required_line_is_there_before_the_call_is_sent(path: Path) -> None:
    """F-AUDIT-1: and the outcome follows in a line of its own."""
    seen: list[str] = []

    def answer(params: Any) -> Any:
        seen.extend(each["outcome"] for each in calls(path))
        return {"content": []}

    async with audited(AuditLog(path, required=True), {"tools/call": answer}) as client:
        await client.call_tool("a")
    assert seen == ["sent"]
    assert [each["outcome"] for each in records(path)] == ["sent", "ok", "sent", "ok"]


async def test_a_log_that_is_not_required_holds_nothing_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """F-AUDIT-1: the failure is logged once, as an error."""
    foreign = tmp_path / "notes.txt"
    foreign.write_text("mine\n")
    with caplog.at_level(logging.ERROR):
        async with audited([foreign, AuditLog(tmp_path / "calls.jsonl")]) as client:
            for _ in range(3):
                assert (await client.call_tool("add")).text == "done"
    assert len(calls(tmp_path / "calls.jsonl")) == 3
    assert foreign.read_text() == "mine\n"
    assert [each.message for each in caplog.records] == [
        f"the audit log {foreign} cannot be written: [Errno 22] it is not an audit log"
    ]


async def test_a_server_that_does_not_start(path: Path) -> None:
    """F-AUDIT-1: with the reason; one that needs a sandbox that is not there was refused."""
    with pytest.raises(mcpclient.CommandNotFound):
        await mcpclient.connect(["no-such-program"], audit=path)
    (line,) = records(path)
    assert (line["outcome"], line["decision"]) == ("CommandNotFound", "allowed")
    assert "no-such-program" in line["reason"]


async def test_a_start_without_the_sandbox_it_needs_was_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-AUDIT-1, F-BOX-2"""

    async def refuse(self: Any, receiver: Any) -> None:
        raise SandboxUnavailable("no Landlock here")

    monkeypatch.setattr(mcpclient.StdioTransport, "open", refuse)
    with pytest.raises(SandboxUnavailable):
        await mcpclient.connect([sys.executable], audit=path, sandbox="required")
    (line,) = records(path)
    assert (line["sandbox"], line["decision"], line["by"]) == (True, "refused", "sandbox")


def test_the_account_of_a_login_stands_in_each_line(path: Path) -> None:
    """F-AUDIT-1"""
    auth = mcpclient.OAuth(account="work")  # and a secret in a URI does not
    client = mcpclient.connect("https://example.com/mcp", auth=auth, audit=path)
    audit = connection_of(client).audit
    assert audit is not None
    audit.refused(ConnectFailed("x", "y"))
    audit.refused(UsageError("z"), "resources/read", "db://u:hunter2@h/?api_key=s3cret")
    assert [each["account"] for each in records(path)] == ["work"] * 2
    about = [(each["kind"], each.get("method"), each["outcome"]) for each in records(path)]
    assert about == [("start", None, "refused"), ("call", "resources/read", "UsageError")]
    assert "hunter2" not in path.read_text() and "s3cret" not in path.read_text()


def test_what_may_be_given_as_a_log() -> None:
    assert logs_of(None) == ()
    assert logs_of(["a", (AuditLog("a"), None), Path("b")]) == (AuditLog("a"), AuditLog(Path("b")))
    with pytest.raises(UsageError, match="audit must be a path or an AuditLog, not int"):
        logs_of(5)
    with pytest.raises(UsageError):
        mcpclient.connect("https://example.com/mcp", audit=5)  # type: ignore[arg-type]


async def test_two_clients_with_one_log_write_one_chain(path: Path) -> None:
    """F-AUDIT-1"""
    async with audited(path) as client:
        server = ScriptedServer(ANSWERS)
        async with server.client(audit=os.fspath(path), name="other") as other:
            await asyncio.gather(client.call_tool("a"), other.call_tool("b"))
    assert json.dumps([each["server"] for each in records(path)]).count("other") == 2
    assert len(records(path)) == 4
