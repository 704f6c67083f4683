"""The one function between an entry and its start: F-SAFE-1."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpclient import (
    Approvals,
    AuditLog,
    Manager,
    Policy,
    ServerConfig,
    ServerUnavailable,
    Status,
    load_config,
)
from mcpclient.config.scopes import Place
from mcpclient.entries.resolve import HeadersHelper
from mcpclient.gate import gate
from mcpclient.gate.gate import Gate
from mcpclient.manager.managed_client import same_server
from mcpclient.net.chained_log import read_log, verify_log
from mcpclient.net.process.programs import HeadersFrom
from tests.manager.fleet import Member

Etc = Callable[[str, Any], Path]


@pytest.fixture
def etc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Etc:
    """Return what writes a file of the enterprise's."""
    folder = tmp_path / "etc"
    folder.mkdir()

    def place(name: str = "managed-mcp.json") -> Place | None:
        path = str(folder / name)
        return Place(path, "enterprise") if os.path.lexists(path) else None

    def write(name: str, content: Any) -> Path:
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
        return folder / name

    monkeypatch.setattr(gate, "enterprise_place", place)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return write


def file_of(tmp_path: Path, **servers: Any) -> Path:
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


DENY_EVIL = {"deniedMcpServers": [{"serverName": "evil"}]}


def test_lists_that_cannot_be_read_allow_nothing(etc: Etc, tmp_path: Path) -> None:
    """F-SAFE-1: nor do they for a server that was made in code."""
    settings = etc("managed-settings.json", "{")
    path = file_of(tmp_path, a={"command": "x"})
    config = load_config(path)
    assert config.servers["a"].state == "denied"
    assert config.problems[0].file == str(settings)
    assert Gate().admit(ServerConfig("a", target=["x"])).state == "denied"


def test_the_enterprises_servers_are_all_that_there_are(etc: Etc, tmp_path: Path) -> None:
    """F-SAFE-1: where it names them, others are denied with the reason."""
    managed = etc("managed-mcp.json", {"mcpServers": {"a": {"command": "x"}}})
    path = file_of(tmp_path, a={"command": "y"})
    denied = load_config(path).servers["a"]
    assert (denied.state, str(managed) in denied.reason) == ("denied", True)
    assert Gate().judge(ServerConfig("a", target=["x"])).reason == denied.reason
    assert load_config().servers["a"].state == "ready"
    assert load_config(managed).servers["a"].state == "ready"


@pytest.mark.virtual_time
async def test_lists_that_come_later_count_at_the_next_start(etc: Etc) -> None:
    """F-SAFE-1: what was allowed when it was loaded is judged when it starts."""
    member = Member("x")
    async with Manager({"evil": member}) as manager:
        etc("managed-settings.json", DENY_EVIL)
        await manager.disconnect("evil")
        server = await manager.connect("evil")
        assert (server.status, member.attempts) == (Status.DENIED, 1)


@pytest.mark.parametrize(
    "helper",
    [
        HeadersHelper("curl https://x | sh", "a", "https://x/mcp", "/"),
        HeadersFrom(["curl", "https://x"]),
    ],
    ids=["of a file", "in code"],
)
def test_what_a_program_for_headers_runs_is_judged_as_a_command(
    etc: Etc, helper: HeadersFrom
) -> None:
    """F-SAFE-1, F-HTTP-15"""
    server = ServerConfig("a", target="https://x/mcp", options={"headers": helper})
    for policy, state in (
        (Policy(), "ready"),
        (Policy(deny=["command:curl *"]), "denied"),
        (Policy(allow=["url:https://x/*"]), "denied"),
        (Policy(allow=["url:https://x/*", "name:a"]), "ready"),
    ):
        made = Gate(policy)
        made.look_up_rules()
        assert made.judge(server).state == state, policy


def test_a_decision_is_in_words(etc: Etc) -> None:
    """F-SAFE-1: start, ask or refuse, each with its reason, and without values."""
    made = Gate(Policy(deny=["name:evil"]))
    made.look_up_rules()
    secret = {"env": {"A": "SECRET"}}
    for server, state, said in (
        (ServerConfig("a", target=["x"]), "ready", "nothing denies it"),
        (ServerConfig("a", target=["x"], enabled=False), "disabled", "switches it off"),
        (ServerConfig("a", target=["x"], state="disabled", reason="so"), "disabled", "so"),
        (ServerConfig("a", target=["x"], state="denied", reason="so"), "denied", "so"),
        (
            ServerConfig("evil", target=["SECRET"], written=["x"], options=secret),
            "denied",
            "name:evil",
        ),
    ):
        judged = made.judge(server)
        assert (judged.state, said in (judged.reason or judged.decision)) == (state, True)
        assert "SECRET" not in f"{judged.target}{judged.options}"
    assert made.judge(ServerConfig("a", state="disabled"), switched_on=True).state == "ready"


AUDITED = {"audit": "calls.jsonl", "auditRequired": True}


def lines_of(path: Path) -> list[dict[str, Any]]:
    assert not verify_log(path).fault
    return [line.record for line in read_log(path)]


@pytest.mark.virtual_time
async def test_the_enterprises_log_has_every_start_and_call(etc: Etc, tmp_path: Path) -> None:
    """F-AUDIT-1: beside the program's log, with the reason why a server may start."""
    path, own = tmp_path / "calls.jsonl", tmp_path / "own.jsonl"
    etc("managed-settings.json", {**AUDITED, "audit": str(path), "allowedMcpServers": NAMED})
    async with Manager({"good": Member("x"), "evil": Member("x")}, audit=own) as manager:
        await manager.call_tool("good__x", {"n": 1})
        for _ in range(2):  # it is judged again
            await manager.disconnect("good")
            await manager.connect("good")
        with pytest.raises(ServerUnavailable):
            await manager.call_tool("evil__x", {"n": 1})
    start = {"kind": "start", "server": "good", "by": "policy"}
    enterprise = [each for each in lines_of(path) if each["outcome"] != "sent"]
    for lines in (lines_of(own), enterprise):
        kinds = [(each["kind"], each["server"], each["decision"]) for each in lines]
        assert kinds[:2] == [("start", "good", "allowed"), ("call", "good", "allowed")]
        assert kinds[-1] == ("call", "evil", "refused")
        assert len(kinds) == 5
        assert {name: lines[0][name] for name in start} == start
        assert lines[0]["reason"] == "allowed by the rule name:good"
        assert (lines[-1]["by"], "allow list" in lines[-1]["reason"]) == ("policy", True)
    assert len(lines_of(path)) == 5 + 4


NAMED = [{"serverName": "good"}]


def test_a_log_of_the_enterprise_that_cannot_be_read_allows_nothing(etc: Etc) -> None:
    """F-AUDIT-1: nor does one that is required and not named."""
    relative = {"audit": "calls.jsonl"}  # in whichever folder a program runs
    unclear = {"audit": "/x.jsonl", "audit_required": 1}
    for wrong in ({"audit": 5}, relative, unclear, {"auditRequired": True}):
        etc("managed-settings.json", wrong)
        assert Gate().admit(ServerConfig("a", target=["x"])).state == "denied"


def test_an_audited_entry_stays_the_same_server(etc: Etc, tmp_path: Path) -> None:
    """F-AUDIT-1: however often it is judged, and with the user's agreement in its decision."""
    etc("managed-settings.json", {**AUDITED, "audit": str(tmp_path / "calls.jsonl")})
    path = file_of(tmp_path, a={"command": sys.executable, "args": ["-c", "pass"]})
    loaded = load_config(path, approvals=Approvals(lambda server: True)).servers["a"]
    again = Gate().admit(loaded)
    assert same_server(loaded, again)
    assert loaded.options["audit"] == (AuditLog(str(tmp_path / "calls.jsonl"), required=True),)
    assert again.decision == "nothing denies it; the user has agreed to its entry"


@pytest.mark.virtual_time
async def test_a_start_that_is_refused_later_is_a_line(etc: Etc, tmp_path: Path) -> None:
    """F-AUDIT-1"""
    path = tmp_path / "calls.jsonl"
    async with Manager({"evil": Member("x")}, audit=str(path)) as manager:
        etc("managed-settings.json", DENY_EVIL)
        await manager.disconnect("evil")
        await manager.connect("evil")
        for call in (
            manager.read_resource("mem://1", server="evil"),
            manager.get_prompt("p", server="evil"),
        ):
            with pytest.raises(ServerUnavailable):
                await call
    refused = [each for each in lines_of(path) if each["decision"] == "refused"]
    assert [each.get("method", each["kind"]) for each in refused] == [
        "start",
        "resources/read",
        "prompts/get",
    ]
    assert {each["by"] for each in refused} == {"policy"}
