"""A configuration file: the ending of its name in the first line, its content in the rest.

Whatever it holds, what comes of it are servers and problems; and what is added can be removed.
"""

from __future__ import annotations

import os
import tempfile

from mcpclient.config.policy.policy import Policy
from mcpclient.config.writing import add_server_to, remove_server_from
from mcpclient.errors import UsageError
from mcpclient.gate.load import load_config

_POLICY = Policy(
    allow=["name:*", "command:npx **", "url:https://*.corp.com/*"],
    deny=["command:npx * @sketchy/*", "url:http://*", {"serverCommand": ["a", "b"]}],
)
_FOLDER = tempfile.TemporaryDirectory()  # one for all runs: making it takes longer than a run
_ENVIRON = {"A": "kept-back ${A}", "HOME": "/nowhere"}
_NAMES = {
    b"toml": ".codex/config.toml",
    b"yaml": ".continue/mcpServers/a.yaml",
    b"opencode": "opencode.json",
    b"gemini": ".gemini/settings.json",
    b"vscode": ".vscode/mcp.json",
}


def target(data: bytes) -> None:
    kind, _, content = data.partition(b"\n")
    name = _NAMES.get(kind, ".mcp.json")
    path = os.path.join(_FOLDER.name, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    config = load_config(path, env=_ENVIRON, inputs={"a": "kept-back"}, policy=_POLICY)
    lines = content.count(b"\n") + 1
    for problem in config.problems:
        assert problem.line is not None
        assert 1 <= problem.line <= lines
        assert "kept-back" not in problem.hint
        str(problem)
    for server in config.servers.values():
        config.explain(server.name)
        assert len(server.fingerprint()) == 64
    edit(content, name)


def edit(content: bytes, name: str) -> None:
    try:
        text = content.decode()
        added = add_server_to(text, name, "added", {"command": "x"})
        remove_server_from(added, name, "added")
    except (UnicodeDecodeError, UsageError):
        pass
