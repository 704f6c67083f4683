"""F-SHOW-10, F-SHOW-14, F-SHOW-17, F-AUTH-12: the data for the page, without any secret."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from mcpclient import Client, ConnectFailed, OAuth, PeerError, Recording, UsageError
from mcpclient.client.requests import connection_of
from mcpclient.inspector.described import (
    Lists,
    Word,
    copied_command,
    copied_target,
    copied_url,
    described_error,
    fetch_lists,
    form_problems,
)
from mcpclient.inspector.inspector import source_of
from mcpclient.inspector.servers import Watch
from tests.client.scripted_server import HANDSHAKE, ScriptedServer
from tests.inspector.recorded import recording
from tests.support.tables import each_row

pytestmark = pytest.mark.virtual_time

# Servers, errors and calls


def watch_of(made: Recording) -> Watch:
    """Return the watch over a recording."""
    watch = Watch()
    (state,) = source_of(made).states().values()
    watch.follow(state)
    return watch


def test_an_error_comes_with_its_hint_and_without_secrets() -> None:
    error = ConnectFailed("https://h/mcp?key=s3cret", "refused ?token=s3cret")
    told = described_error(error)
    assert told is not None
    assert told["type"] == "ConnectFailed"
    assert "s3cret" not in json.dumps(told)
    assert told["hint"] == error.hint
    assert described_error(None) is None
    assert described_error(UsageError("x")) == {"hint": None, "type": "UsageError", "text": "x"}


OPENING = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "instructions": "do"}
META = {"io.modelcontextprotocol/serverInfo": {"name": "new"}}
DISCOVERED = {"supportedVersions": ["2026-07-28"], "capabilities": {}, "_meta": META}


@pytest.mark.parametrize(
    ("method", "result", "expected"),
    [
        (
            "initialize",
            {**OPENING, "serverInfo": {"name": "old"}},
            ("2025-11-25", "handshake", {"name": "old"}, {"tools": {}}, "do"),
        ),
        ("server/discover", DISCOVERED, ("2026-07-28", "stateless", {"name": "new"}, {}, None)),
        ("ping", {}, (None, None, {}, {}, None)),
    ],
)
def test_a_recorded_server(
    method: str, result: dict[str, Any], expected: tuple[object, ...], tmp_path: Path
) -> None:
    """F-SHOW-10: as its opening has it, if that is in the recording."""
    made = recording(tmp_path / "r.jsonl", (method, {}, result))
    told = watch_of(made).described()
    assert (told["target"], told["transport"]) == ("npx x", "stdio")
    names = ("version", "era", "server", "capabilities", "instructions")
    assert tuple(told[name] for name in names) == expected


def shown(word: Word) -> str:
    return "".join(part if isinstance(part, str) else f"${part['variable']}" for part in word)


@each_row(
    ("command", "expected"),
    [
        ("npx -y @scope/server-files /tmp ./a ~/b", None),
        ("uvx mcp-server-time --local-timezone=Europe/Berlin", None),
        ("python -m my.server --port 8000 --ratio -0.5 -v", None),
        ("node ../server.js stdio -- ready", None),
        ("docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server", None),
        ("server --url https://h.example/v1", None),
        ("server '/a folder/b'", None),
        (r"server 'C:\data\files'", None),
        ("server --api-key abc", "server --api-key $API_KEY"),
        ("server --api-key=abc --mode=", "server --api-key=$API_KEY --mode="),
        ("server -t abc", "server -t $ARGUMENT_2"),
        ("server -p 8080", None),
        ("server hunter2", "server $ARGUMENT_1"),
        ("server sk-abcdef1234567890abc", "server $ARGUMENT_1"),
        ("server /tmp/abcdefgh12345678", "server $ARGUMENT_1"),
        ("env API_KEY=abc MODE=x server", "env API_KEY=$API_KEY MODE=$MODE server"),
        ("server --header 'Authorization: x'", "server --header $HEADER"),
        ("server https://h.example/?key=abc", "server $ARGUMENT_1"),
        ("server https://user:abc@h.example/", "server $ARGUMENT_1"),
        ("server --1='{}'", "server $ARGUMENT_1"),
        ("python -c 'import x'", "python -c $ARGUMENT_2"),
    ],
)
def test_a_command_runs_as_it_is_and_has_no_secret(command: str, expected: str | None) -> None:
    """F-AUTH-12: options, paths, numbers and words stay; the rest are variables with a name."""
    words = shlex.split(command)
    assert [shown(word) for word in copied_command(words)] == shlex.split(expected or command)


@each_row(
    ("url", "expected"),
    [
        ("https://h.example/mcp", "https://h.example/mcp"),
        ("https://h.example/mcp?tools=all&n=3&b", "https://h.example/mcp?tools=all&n=3&b"),
        ("https://h.example/mcp?tools=all&key=abc", "https://h.example/mcp?tools=all&key=$KEY"),
        ("https://h.example/mcp?q=abc123def", "https://h.example/mcp?q=$Q"),
        ("https://h.example/mcp?7=a1b2c3", "https://h.example/mcp?7=$VALUE_7"),
        ("https://user:abc@h.example/mcp", "$SERVER_URL"),
        ("https://h.example/s/abcdefgh12345678/mcp?a=b", "$SERVER_URL"),
    ],
)
def test_a_url_has_no_secret(url: str, expected: str) -> None:
    assert shown(copied_url(url)) == expected


def test_how_a_client_reaches_its_server() -> None:
    def copied(target: Any, **options: Any) -> dict[str, Any]:
        connection = connection_of(Client(target, **options))
        return copied_target(connection.route.destination, connection.options)

    assert copied(["server", "x"], cwd="/srv") == {"command": [["server"], ["x"]], "cwd": "/srv"}
    assert copied("server x") == {"command": [["server"], ["x"]]}
    assert copied({"url": "https://h.example/mcp"}) == {"url": ["https://h.example/mcp"]}
    auth = OAuth(client_id="me", client_secret="s3cret", issuer="https://auth.example")
    secret = copied("https://h.example/mcp", auth=auth)
    assert secret["oauth"] == {"client_id": "me"}
    assert "s3cret" not in json.dumps(secret)
    assert copied("wss://h.example/mcp", auth="s3cret") == {"url": ["wss://h.example/mcp"]}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError

    assert copied(app) == {}


# The lists, as the server sent them

EVERYTHING: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}


async def fetched(answers: Lists, capabilities: Lists = EVERYTHING) -> Lists:
    server = ScriptedServer(answers, version=HANDSHAKE, capabilities=capabilities)
    async with server.client() as client:
        return await fetch_lists(client)


async def test_a_list_that_is_begun_anew_has_nothing_twice() -> None:
    """F-API-9, F-SHOW-10: a cursor became invalid between two pages."""
    asked: list[Any] = []

    def tools(params: Any) -> Lists:
        asked.append(params)
        if len(asked) == 2:
            raise PeerError(-32602, "invalid cursor")
        return {"tools": [7], **({} if "cursor" in params else {"nextCursor": "x"})}

    found = await fetched({"tools/list": tools}, {"tools": {}})
    assert (found["tools"], found["errors"]) == ([7, 7], {})
    assert len(asked) == 4


async def test_a_list_that_fails_is_empty_and_says_why() -> None:
    def refuse(params: Any) -> None:
        raise PeerError(-32000, "no tools today")

    pages = iter(range(5000))
    found = await fetched(
        {
            "tools/list": refuse,
            "resources/list": {"resources": {}},
            "resources/templates/list": {"resourceTemplates": [], "nextCursor": "same"},
            "prompts/list": lambda _: {"prompts": [], "nextCursor": str(next(pages))},
        }
    )
    texts = {name: error["text"] for name, error in found["errors"].items()}
    assert "no tools today" in texts["tools"]
    assert "no list 'resources'" in texts["resources"]
    assert "gave resourceTemplates the cursor 'same' twice" in texts["templates"]
    assert "did not end" in texts["prompts"]


async def test_a_list_is_bounded_in_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-9: as for the program's own requests."""
    monkeypatch.setattr("mcpclient.client.connection.connection.MAX_WEIGHT", 3_000_000)
    asked: list[Any] = []

    def page(params: Any) -> dict[str, Any]:
        asked.append(params)
        return {"tools": ["x" * 1_000_000], "nextCursor": str(len(asked))}

    found = await fetched({"tools/list": page}, {"tools": {}})
    assert "exceeds 2 MiB" in found["errors"]["tools"]["text"]
    assert (found["tools"], len(asked)) == ([], 3)


async def test_the_lists_of_a_recorded_server(tmp_path: Path) -> None:
    """F-SHOW-10: all pages, as they were asked for last."""
    made = recording(
        tmp_path / "r.jsonl",
        ("tools/list", {}, {"tools": [{"name": "stale"}]}),
        ("tools/list", {}, {"tools": [{"name": "a"}], "nextCursor": "2"}),
        ("tools/list", {"cursor": "2"}, {"tools": [{"name": "b"}]}),
        ("resources/list", {}, {"resources": "odd"}),
    )
    lists = await watch_of(made).lists(fresh=False)
    assert [tool["name"] for tool in lists["tools"]] == ["a", "b"]
    assert lists["resources"] == lists["prompts"] == []


LOOP: dict[str, Any] = {"properties": {f"c{n}": {"$ref": "#"} for n in range(10)}}
PROBLEMS: list[tuple[Any, Any, list[tuple[list[Any], str]]]] = [
    ({"type": "string"}, 7, [([], "is not a string")]),
    ({"minLength": 1}, "", [([], "0 characters are less than 1")]),
    ({"properties": {"a/b": {"minimum": 18}}}, {"a/b": 17}, [(["a/b"], "is less than 18")]),
    ({"format": "email"}, "nowhere", [([], "does not have the format email")]),
    (
        {"items": {"pattern": "^(a+)+$"}},
        ["a" * 40 + "!"],
        [([0], "does not match the pattern '^(a+)+$'")],
    ),
    ({"properties": {"0": {"required": ["a"]}}}, {"0": {}}, [(["0", "a"], "is required")]),
    ({"additionalProperties": False}, {"b": 1}, [(["b"], "is not allowed here")]),
    (
        {**LOOP, "type": "object"},
        {"c1": {"c2": {"c3": 7}}},
        [(["c1", "c2", "c3"], "is not an object")],
    ),
    ({"pattern": "("}, "x", []),
    ({"type": "nonsense"}, "x", []),
    (None, 1, []),
    (True, 1, []),
]


@each_row(("schema", "value", "expected"), PROBLEMS)
def test_the_problems_of_a_form(schema: Any, value: Any, expected: Any) -> None:
    """F-SHOW-14: each has its place, and none shows the value."""
    assert [(each["path"], each["text"]) for each in form_problems(schema, value)] == expected
