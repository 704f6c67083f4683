"""F-WIRE-7: errors of this library, no raw ones, whatever a server, a file or a caller gives.

Each of these once was a `RecursionError`, a `ValueError` or a `TypeError` from deep inside.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any, Callable

import pytest

import mcpclient
from mcpclient import McpError, PeerError, UsageError
from mcpclient.config.config import Problem, ServerConfig
from mcpclient.config.policy.policy import Policy
from mcpclient.errors import HttpError, NotChecked, ProtocolViolation, safe_str
from mcpclient.gate.gate import Approvals
from mcpclient.gate.load import load_config
from mcpclient.jsonrpc.codec import decode
from mcpclient.jsonrpc.messages import peer_error
from mcpclient.manager.pins import Memory, Pins
from mcpclient.net.login.storage import FileStore
from mcpclient.recording.conversation import read_calls
from mcpclient.recording.transcript import read_transcripts
from mcpclient.testing import cassette, check_tools
from mcpclient.transports.replaying import Recording

pytestmark = pytest.mark.slow

# What JSON can nest, and hardly anything else can.
DEEP = "[" * 950 + "]" * 950


def in_depth(function: Callable[[], Any], frames: int) -> Any:
    """Call a function with little of the stack left."""
    return function() if frames == 0 else in_depth(function, frames - 1)


@pytest.mark.parametrize("member", ["code", "message", "data"])
@pytest.mark.parametrize("frames", [0, 100, 300])
def test_an_error_of_a_server_may_be_nested_deeply(member: str, frames: int) -> None:
    """F-WIRE-7"""
    error = {"code": 1, "message": "m", member: deep()}
    found = in_depth(lambda: peer_error(error), frames)
    assert isinstance(found, (PeerError, ProtocolViolation))
    assert in_depth(lambda: f"{found} {found!r}", frames)


def deep() -> Any:
    value: Any = []
    for _ in range(950):
        value = [value]
    return value


def test_what_stands_in_the_place_of_a_string() -> None:
    assert safe_str("text") == "text"
    assert safe_str(None) == "None"
    assert in_depth(lambda: safe_str(deep()), 200).startswith(("<list", "[[["))  # as Python can


VALUES = [
    *("null", "true", "-1", "1e999", "NaN", '"x"', "[]", "{}", "[1]", '[["a"]]', '[["a", "b"]]'),
    *('[["a", "b", "c"]]', '{"a": 1}', '"%%%"', DEEP, f'{{"method": {DEEP}}}', "200"),
    f'{{"jsonrpc": "2.0", "id": {DEEP}, "method": "m"}}',
    '{"jsonrpc": "2.0", "id": 1, "method": 5}',
    '{"jsonrpc": "2.0", "id": 1, "method": "m", "params": [1]}',
    '{"jsonrpc": "2.0", "id": 1, "result": {}}',
    '{"jsonrpc": "2.0", "id": 1, "error": {"code": "x"}}',
    '{"method": "POST", "headers": [["content-type", "text/event-stream"]]}',
    '{"status": 200, "headers": [["content-type", "text/event-stream"]]}',
    *('{"status": 500}', '{"status": true}', r'"\ud800"', r'"a\u0000b"', "{", ""),
]
MEMBERS = ["message", "text", "base64", "event", "line_end", "http", "frame", "end", "error"]
MEMBERS += ["answers", "abandoned", "recalled"]


@pytest.mark.parametrize("seed", range(20))
def test_a_transcript_may_hold_anything(seed: int) -> None:
    """F-SHOW-8: it is read, or refused in words."""
    chance = random.Random(seed)
    for _ in range(100):
        transport = chance.choice(['"stdio"', '"http"', '"sse"', *VALUES])
        target = chance.choice(VALUES)
        lines = [f'{{"transcript": 1, "transport": {transport}, "target": {target}}}']
        for _ in range(chance.randint(1, 6)):
            direction = chance.choice(["sent", "received", "note"])
            channel = chance.choice(["stdio", "http-1", "websocket", "stderr"])
            members = [f'"time": 1, "direction": "{direction}", "channel": "{channel}"']
            for name in chance.sample(MEMBERS, chance.randint(0, 4)):
                members.append(f'"{name}": {chance.choice(VALUES)}')
            lines.append(f"{{{', '.join(members)}}}")
        try:
            conversation = read_calls(read_transcripts(lines))
        except UsageError:
            continue
        assert conversation.calls is not None


NUL = "a\0b"


def connect(target: Any = "server-that-is-not-there", **options: Any) -> None:
    asyncio.run(mcpclient.connect(target, **options).connect())


def raise_first(problems: list[Problem]) -> None:
    raise UsageError(str(problems[0]))


PATHS: dict[str, Callable[[str], Any]] = {
    "cwd": lambda path: connect(cwd=path),
    "command": lambda path: connect([path]),
    "command line": connect,
    "audit": lambda path: connect(audit=path),
    "policy": lambda path: Policy.from_settings({"audit": path}),
    "variable": lambda path: connect(env={"A": path}),
    "roots": lambda path: connect(roots=[path]),
    "unix socket": lambda path: connect("http://localhost/mcp", unix_socket=path),
    "ca_file": lambda path: connect("https://localhost:9/mcp", ca_file=path),
    "client_cert": lambda path: connect("https://localhost:9/mcp", client_cert=path),
    "recording": Recording,
    "cassette": cassette,
    "tools": lambda path: check_tools([], path, update=True),
    "credentials": FileStore,
    "pins": Pins,
    "configuration": lambda path: raise_first(load_config(path).problems),
    "start": lambda path: load_config(start=path),
}


@pytest.mark.parametrize("path", [NUL, "~\0b", "~\ud800b"], ids=ascii)
@pytest.mark.parametrize("use", PATHS)
def test_a_path_that_no_system_has(use: str, path: str) -> None:
    """F-SAFE-8: it is refused as a path, wherever one is given."""
    with pytest.raises((McpError, OSError)):
        PATHS[use](path)


def test_a_store_with_a_nul_character_remembers_nothing() -> None:
    """F-SAFE-8"""
    memory = Memory(NUL)
    assert memory.recall() == {}
    server = ServerConfig("a", target=["x"], raw={"command": "x"}, source="a")
    assert not Approvals(store=NUL).is_approved(server)
    with pytest.raises(OSError, match="not the path of a file"):
        Approvals(store=NUL).approve(server)


HOSTILE = "\x1b[2J\x07a\u202eb\x9b1m"


@pytest.mark.parametrize(
    "text_of",
    [
        lambda: str(PeerError(1, HOSTILE)),
        lambda: str(ProtocolViolation(HOSTILE)),
        lambda: str(NotChecked(HOSTILE)),
        lambda: str(McpError(HOSTILE)),
        lambda: str(UsageError(HOSTILE)),
        lambda: str(HttpError(500, {}, HOSTILE.encode(), "http://x")),
        lambda: str(Problem("error", HOSTILE, HOSTILE, 1, HOSTILE, HOSTILE, HOSTILE)),
        lambda: repr(Problem("error", HOSTILE, HOSTILE, 1, HOSTILE, HOSTILE, HOSTILE)),
        lambda: repr(mcpclient.Manager({HOSTILE: ServerConfig(HOSTILE, target=["x"])}).servers),
        lambda: repr(mcpclient.connect([HOSTILE])),
    ],
)
def test_no_control_character_reaches_a_terminal(text_of: Callable[[], str]) -> None:
    """F-SHOW-3: also for a caller who prints an error, a problem or an object."""
    text = text_of()
    assert not set(text) & set(HOSTILE) - set("[2Jab1m")
    assert text.replace("\n", "").isprintable()


def test_a_problem_is_one_line() -> None:
    assert "\n" not in str(Problem("error", "a\nb: error: forged", "file\n", 1))


def test_the_depth_that_is_tried_is_one_that_json_has() -> None:
    assert decode(f'{{"jsonrpc": "2.0", "id": 1, "result": {{"a": {DEEP[100:-100]}}}}}'.encode())
