"""Runs a script through the command line of the official Inspector, which does one thing and exits.

Usage: ``python -m conformance.capture.drive_inspector < task.json``. That one thing is the last
step of the script; the others the Inspector does by itself, and does not say what came of them. Nor
does it say whom it has connected to.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance import peers
from conformance.capture.notes import note
from conformance.scripts import HANDSHAKE, numbered

PROGRAM = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"

# The method of each step, and the list in its result if the user wants only that.
METHODS = {
    "list_tools": ("tools/list", "tools"),
    "list_resources": ("resources/list", "resources"),
    "list_resource_templates": ("resources/templates/list", "resourceTemplates"),
    "list_prompts": ("prompts/list", "prompts"),
    "call_tool": ("tools/call", ""),
    "read_resource": ("resources/read", ""),
    "get_prompt": ("prompts/get", ""),
}


def options(step: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options that stand for a step."""
    yield from ("--method", METHODS[step["do"]][0])
    if step["do"] == "call_tool":
        yield from ("--tool-name", step["name"])
        yield from ("--tool-args-json", json.dumps(step["arguments"]))
    if step["do"] == "read_resource":
        yield from ("--uri", step["uri"])
    if step["do"] == "get_prompt":
        yield from ("--prompt-name", step["name"])
        pairs = [f"{name}={value}" for name, value in step.get("arguments", {}).items()]
        if pairs:
            yield from ("--prompt-args", *pairs)


def main() -> None:
    """Do the last step of the script."""
    task = json.load(sys.stdin)
    script, target = task["script"], task["target"]
    *_, (number, step) = numbered(script["steps"])
    entry = target.get("process") or {"type": target["transport"], "url": target["url"]}
    era = "legacy" if script["revision"] == HANDSHAKE else "modern"
    note({"step": number, "do": step["do"], "begins": True})
    with tempfile.TemporaryDirectory() as home:
        config = Path(home, "servers.json")
        config.write_text(json.dumps({"mcpServers": {"tapped": entry}}), "utf-8")
        program = str(peers.node_module(PROGRAM, "node-hosts"))
        process = subprocess.Popen(
            [
                *(peers.node() or "node", program, "--cli", "--config", str(config)),
                *("--server", "tapped", "--protocol-era", era, "--format", "json", "--quiet"),
                *options(step),
            ],
            env={"PATH": os.environ["PATH"], "HOME": home, "MCP_INSPECTOR_SECRET_STORE": "memory"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        said = process.stdout.readline()
        if not said:
            said = process.stderr.read()
        note({"step": number, "outcome": outcome(step, json.loads(said))})
        process.communicate()
    note({"closed": True})


def outcome(step: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcome of a step, from the command's output."""
    if "result" not in said:
        return {"failed": "other", "detail": json.dumps(said)}
    _, member = METHODS[step["do"]]
    return {"result": said["result"][member] if member else said["result"]}


main()
