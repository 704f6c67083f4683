"""The command line of the official Inspector as a host."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from conformance import live, peers
from conformance.comparing import Report

NAME = "the Inspector"
ENVIRONMENT = "node-hosts"
PROGRAM = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"


def entry_of(target: Report) -> Report:
    """Return the entry of a server in its configuration."""
    if "url" in target:
        return {"type": "http", "url": target["url"]}
    command, *arguments = target["command"]
    return {"command": command, "args": arguments, "cwd": str(peers.TOP)}


def ask(entry: Report, questions: Iterable[Sequence[str]]) -> list[str] | None:
    """Return the exit code and the output of each question; None if it is not installed.

    It says all that it gets, and starts Node for each question.
    """
    node = peers.node() if peers.is_installed(ENVIRONMENT) else None
    if node is None:
        return None
    program = [node, str(peers.node_module(PROGRAM, ENVIRONMENT)), "--cli"]
    with tempfile.TemporaryDirectory() as folder:
        home = {"HOME": folder, "MCP_INSPECTOR_SECRET_STORE": "memory"}
        environment = {**{name: os.environ.get(name, "") for name in ("PATH", "LANG")}, **home}
        config = Path(folder, "servers.json")
        config.write_text(json.dumps({"mcpServers": {"server": entry}}), "utf-8")
        asking = [*program, "--config", str(config), "--server", "server", "--method"]
        said = [
            subprocess.run(
                [*asking, *question],
                cwd=folder,
                env=environment,
                capture_output=True,
                timeout=live.ASK_LIMIT,
                check=False,
            )
            for question in questions
        ]
    return [f"{each.returncode} {each.stdout.decode()}" for each in said]


def calling(name: str, arguments: Report) -> list[str]:
    """Return the question that calls a tool."""
    pairs = [f"{key}={json.dumps(value).strip(chr(34))}" for key, value in arguments.items()]
    return ["tools/call", "--tool-name", name, *(["--tool-arg", *pairs] if pairs else [])]
