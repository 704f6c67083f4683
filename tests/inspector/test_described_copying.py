"""F-SHOW-10, F-SHOW-17, F-AUTH-12: how a server is reached, as it can be copied."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from mcpclient import Client, OAuth
from mcpclient.inspector.described import Word, copied_command, copied_target, copied_url


def shown(word: Word) -> str:
    return "".join(part if isinstance(part, str) else f"${part['variable']}" for part in word)


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
        connection = Client(target, **options)._connection
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
