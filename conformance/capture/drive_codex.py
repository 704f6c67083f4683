"""Runs a script through Codex, a host whose client is the official SDK in Rust (``rmcp``).

Usage: ``python -m conformance.capture.drive_codex < task.json``. It does what its model says, which
here says the steps of the script, one after the other. It lists the tools by itself. What came of a
call it tells; of the other steps, and of whom it has connected to, it says nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from conformance import peers
from conformance.capture.notes import note

PROGRAM = "@openai/codex/bin/codex.js"
SERVER = "tapped"

# The function that stands for a step which calls no tool of the server.
READ = "read_mcp_resource"


def wanted(steps: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the model's words in each turn, and note that the step begins."""
    for number, step in enumerate(steps):
        called = {"type": "function_call", "call_id": f"call-{number}"}
        if step["do"] == "call_tool":
            note({"step": number, "do": step["do"], "begins": True})
            arguments = json.dumps(step["arguments"])
            yield {
                **called,
                "name": step["name"],
                "namespace": f"mcp__{SERVER}",
                "arguments": arguments,
            }
        elif step["do"] == "read_resource":
            given = {"server": SERVER, "uri": step["uri"]}
            yield {**called, "name": READ, "arguments": json.dumps(given)}
    content = [{"type": "output_text", "text": "That is all."}]
    yield {"type": "message", "role": "assistant", "id": "message", "content": content}


class Model(ThreadingHTTPServer):
    """Stands for the model: its replies are fixed, whatever the prompt."""

    def __init__(self, steps: list[dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), Turn)
        self.says = wanted(steps)


class Turn(BaseHTTPRequestHandler):
    """One request to the model."""

    server: Model

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        details = {"input_tokens_details": None, "output_tokens_details": None}
        usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0, **details}
        events = (
            {"type": "response.created", "response": {"id": "response"}},
            {"type": "response.output_item.done", "item": next(self.server.says)},
            {"type": "response.completed", "response": {"id": "response", "usage": usage}},
        )
        lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
        body = "".join(lines).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: what is printed are notes."""


def settings(port: int, target: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a configuration with one server. JSON's strings are TOML's as well."""
    yield 'model = "scripted"\nmodel_provider = "scripted"\n[model_providers.scripted]'
    yield f'name = "scripted"\nbase_url = "http://127.0.0.1:{port}"\nwire_api = "responses"'
    yield f"[mcp_servers.{SERVER}]\nrequired = true\nstartup_timeout_sec = 60"
    process = target.get("process")
    if process is None:
        yield f"url = {json.dumps(target['url'])}"
        return
    yield f"command = {json.dumps(process['command'])}\nargs = {json.dumps(process['args'])}"
    yield f"cwd = {json.dumps(process['cwd'])}\n[mcp_servers.{SERVER}.env]"
    yield from (f"{name} = {json.dumps(value)}" for name, value in process["env"].items())


def main() -> None:
    """Do the steps of the script."""
    task = json.load(sys.stdin)
    steps = task["script"]["steps"]
    calls = iter([number for number, step in enumerate(steps) if step["do"] == "call_tool"])
    with Model(steps) as model, tempfile.TemporaryDirectory() as home:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        lines = settings(model.server_address[1], task["target"])
        Path(home, "config.toml").write_text("\n".join(lines), "utf-8")
        program = str(peers.node_module(PROGRAM, "node-codex"))
        process = subprocess.Popen(
            [
                *(peers.node() or "node", program, "exec", "--json", "--skip-git-repo-check"),
                *("--dangerously-bypass-approvals-and-sandbox", "Do what you are told."),
            ],
            cwd=home,
            env={"PATH": os.environ["PATH"], "HOME": home, "CODEX_HOME": home},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line)
            item = event.get("item", {})
            is_call = item.get("type") == "mcp_tool_call" and item["tool"] != READ
            if event["type"] == "item.completed" and is_call:
                note({"step": next(calls), "outcome": outcome(item)})
        process.wait()
        model.shutdown()
    note({"closed": True})


def outcome(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcome of a call from the report of it."""
    result = item["result"]
    if result is None:
        return {"failed": "other", "detail": str(item["error"])}
    structured = result["structured_content"]
    extra = {} if structured is None else {"structuredContent": structured}
    return {"result": {"content": result["content"], **extra}}


main()
