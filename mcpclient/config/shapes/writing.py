"""An entry as ``mcpServers`` has it, in the words of another application."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CODEX = {"headers": "http_headers"}
_OPENCODE = {"env": "environment"}


def in_shape_of(application: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry that ``application`` reads as the same server."""
    given = {key: value for key, value in entry.items() if value not in (None, {}, [])}
    is_remote = "url" in given and "command" not in given
    if application == "opencode":
        command = given.pop("command", None)
        words = [] if command is None else [command, *given.pop("args", ())]
        kind: dict[str, Any] = (
            {"type": "remote"} if is_remote else {"type": "local", "command": words}
        )
        given.pop("type", None)
        return {**kind, **{_OPENCODE.get(key, key): value for key, value in given.items()}}
    if application == "codex":
        given.pop("type", None)
        return {_CODEX.get(key, key): value for key, value in given.items()}
    if application == "gemini" and is_remote and given.pop("type", "http") == "http":
        return {"httpUrl": given.pop("url"), **given}
    if application == "windsurf" and is_remote:
        given.pop("type", None)
        return {"serverUrl": given.pop("url"), **given}
    if application in ("claude-code", "vscode") and is_remote and "type" not in given:
        return {"type": "http", **given}  # without a type it is taken for a command
    return given
