"""More than two hundred malformed configurations: each with a name, a file name and a content."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple


class Malformed(NamedTuple):
    """``sound``: whether the server called "sound" in it has to be there all the same."""

    name: str
    file: str
    content: bytes
    sound: bool


_SOUND = {"command": "sound"}

# Strings that are not JSON at all.
_BROKEN = [
    *("", " ", "\n\n", "{", "}", "[", "]", '"', "'", ",", ":", "/", "/*", "//", "#", "\\", "\0"),
    *("nul", "tru", "NaN", "Infinity", "-", "+1", "01", "1.", ".5", "0x10", "1e", "undefined"),
    *('{"', '{"a', '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,,}', "{,}", '{"a"}', '{"a" 1}'),
    *('{"a":1 "b":2}', '{"a":1;}', "{'a':1}", "{a:1}", "{\"a\":'b'}", '{"a":"b}', '{"a":"\n"}'),
    *('{"a":"\\x"}', '{"a":"\\u12"}', '{"a":"\\ud800"}', '{"a":"\t"}', '{"a":NaN}'),
    *('{"a":-Infinity}', '{"a":1e999}', '{"a":[1,,2]}', '{"a":[1 2]}', '{"a":[}', '{"a":(1)}'),
    *('{"a":1}}', '{"a":1}{"b":2}', '{"a":1} x', "{}\n{}", '{"a":/*1}', '{"a":1/**}', '{"a"/1}'),
    *("[" * 5000, '{"a":' * 5000, "{" + '"a":{' * 300, '{"a":' + "1" * 5000 + "}", "\ufeff"),
    *("<xml/>", "---\na: b\n", "[mcp_servers.a]\ncommand = 'x'\n", "mcpServers: {}", "a = 1"),
]
_BYTES = [
    *(
        b"\xff",
        b'{"mcpServers": {"\xff": {}}}',
        b"\xff\xfe{\x00}\x00",
        b"\xfe\xff\x00{",
        b"\x80" * 99,
    ),
    *(b'{"a": "\xed\xa0\x80"}', b"\x1f\x8b\x08\x00", b"PK\x03\x04", b"\x00" * 50),
]

# Documents without servers in them.
_DOCUMENTS: list[Any] = [
    *(None, True, 0, "x", [], {}, [1], [{"mcpServers": {}}], {"mcpServer": {}}, {"servers": {}}),
    *({"mcpServers": None}, {"mcpServers": True}, {"mcpServers": 1}, {"mcpServers": "x"}),
    *({"mcpServers": []}, {"mcpServers": [1]}, {"mcpServers": [None]}, {"mcpServers": [[]]}),
    *({"mcpServers": [{"command": "x"}]}, {"mcpServers": [{"name": 1, "command": "x"}]}),
    *({"MCPServers": {"a": _SOUND}}, {"": {}}, {"mcp": {"servers": 1}}),
]

# Entries that cannot be used.
_ENTRIES: list[Any] = [
    *(None, True, False, 0, 1.5, "npx", "https://x", [], ["npx"], {}, {"a": 1}, {"comand": "npx"}),
    *({"command": None}, {"command": ""}, {"command": " "}, {"command": 1}, {"command": True}),
    *({"command": []}, {"command": [""]}, {"command": [1, None]}, {"command": {}}),
    *({"command": {"path": 1}}, {"command": "a\0b"}, {"command": "npx 'a"}, {"command": [[]]}),
    *({"command": "x", "args": "a"}, {"command": "x", "args": 1}, {"command": "x", "args": {}}),
    *({"command": "x", "args": [None]}, {"command": "x", "args": [[]]}, {"args": ["x"]}),
    *({"command": "x", "args": [{}]}, {"command": "x", "args": ["a\0"]}, {"env": {"A": "b"}}),
    *({"command": "x", "env": 1}, {"command": "x", "env": "A=b"}, {"command": "x", "env": ["A"]}),
    *({"command": "x", "env": {"": "a"}}, {"command": "x", "env": {"A=": "b"}}),
    *({"command": "x", "env": {"A": []}}, {"command": "x", "env": {"A": {}}}),
    *({"command": "x", "env": {"A": "\0"}}, {"command": "x", "env": {"A\n": "b"}}),
    *({"command": "x", "envFile": 1}, {"command": "x", "cwd": 1}, {"command": "x", "cwd": []}),
    *({"command": "x", "cwd": "${NOT_SET}"}, {"command": "${NOT_SET}"}),
    {"command": ["${NOT_SET}"]},
    *({"command": "x", "env_vars": [1]}, {"command": "x", "env_vars": {"a": "b"}}),
    *({"command": "x", "disabled": "yes"}, {"command": "x", "disabled": 1}),
    *({"command": "x", "enabled": []}, {"command": "x", "enabled": "no"}),
    *({"command": "x", "includeTools": "a"}, {"command": "x", "excludeTools": [None]}),
    *({"command": "x", "tools": 1}, {"command": "x", "tools": {"include": 1}}),
    *({"command": "x", "type": "http"}, {"command": "x", "type": "nonsense"}),
    *({"command": "x", "type": 1}, {"command": "x", "transport": []}, {"command": "x", "type": ""}),
    *({"url": ""}, {"url": 1}, {"url": []}, {"url": {}}, {"url": "x"}, {"url": "/mcp"}),
    *({"url": "https://"}, {"url": "https:///x"}, {"url": "https:x"}, {"url": "ftp://x"}),
    *({"url": "file:///etc/passwd"}, {"url": "javascript:alert(1)"}, {"url": "https://a b"}),
    *({"url": "https://x:99999"}, {"url": "https://x:y"}, {"url": "https://[::1"}),
    *({"url": "https://a..b"}, {"url": "https://%65vil.com"}, {"url": "https://1.2.3.4.5"}),
    *({"url": "https://good.com\\@evil.com"}, {"url": "https://x\ny"}, {"url": "https://x\u200by"}),
    *({"url": "${NOT_SET}"}, {"url": "https://${NOT_SET}"}, {"url": "https://${NOT_SET}.corp.com"}),
    *({"url": "https://" + "a" * 300}, {"url": "https://" + "a" * 70 + "é"}),
    *({"url": "https://x", "type": "stdio"}, {"url": "https://x", "type": "grpc"}),
    *({"url": "https://x", "headers": 1}, {"url": "https://x", "headers": "A: b"}),
    *({"url": "https://x", "headers": ["A: b"]}, {"url": "https://x", "headers": {"": "b"}}),
    *({"url": "https://x", "headers": {"A": []}}, {"url": "https://x", "headers": {"A\n": "b"}}),
    *({"url": "https://x", "bearer_token": "t"}, {"url": "https://x", "bearer_token_env_var": 1}),
    *({"url": "https://x", "env_http_headers": 1}, {"url": "https://x", "headersHelper": 3}),
    *({"url": "https://x", "oauth": 1}, {"url": "https://x", "oauth": {"clientId": 1}}),
    *({"url": "https://x", "oauth": {"scopes": 1}}, {"url": "https://x", "oauth": []}),
    *({"url": "https://x", "oauth": {"clientSecret": "s"}}, {"httpUrl": 1}, {"serverUrl": None}),
]

_TOML = [
    *("[mcp_servers", "[mcp_servers.a]\ncommand = ", "mcp_servers = 1\n", "[mcp_servers.a]\n"),
    *("[mcp_servers.a]\ncommand = 1\n", "[mcp_servers.a]\nurl = 'https://x'\nargs = 1\n"),
    *("[mcp_servers.a]\ncommand = 'x'\ncommand = 'y'\n", "a = " + "[" * 5000, "\x00"),
    *("[mcp_servers.a]\ncommand = 1979-05-27\n", "[mcp_servers.a]\ncommand = nan\n"),
]
_YAML = [
    *("mcpServers: [", "mcpServers: &a b\n", "\tmcpServers: x\n", "mcpServers:\n - command: x\n"),
    *("- a\n- b\n", "mcpServers:\n  - name: a\n", "mcpServers: !!python/object x\n"),
    "mcpServers: 3\n",
]


def _all() -> Iterator[Malformed]:
    for index, text in enumerate(_BROKEN):
        yield Malformed(f"text {index}", ".mcp.json", text.encode("utf-8", "surrogatepass"), False)
    for index, content in enumerate(_BYTES):
        yield Malformed(f"bytes {index}", ".mcp.json", content, False)
    for index, document in enumerate(_DOCUMENTS):
        yield Malformed(f"document {index}", ".mcp.json", _json(document), False)
    for index, entry in enumerate(_ENTRIES):
        both = {"mcpServers": {"bad": entry, "sound": _SOUND}}
        yield Malformed(f"entry {index}", ".mcp.json", _json(both), True)
    for index, text in enumerate(_TOML):
        yield Malformed(f"TOML {index}", ".codex/config.toml", text.encode(), False)
    for index, text in enumerate(_YAML):
        yield Malformed(f"YAML {index}", ".continue/mcpServers/a.yaml", text.encode(), False)


def _json(document: Any) -> bytes:
    return json.dumps(document, indent=1).encode()


MALFORMED = list(_all())
