"""The same scripts again, by the client of the Python SDK, which shares no code with the others.

Left out are scripts for what that client has no way to do: cancelling, tasks, logging in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from conformance.capture.collection import own_server, reference_servers
from conformance.scripts import PYTHON1, Script, Step

# The transports, by server and script.
_CHOSEN: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("sdk1", "pages"): ("http",),
    ("sdk1", "contents"): ("stdio",),
    ("sdk1", "errors"): ("stdio", "http"),
    ("sdk1", "outputs"): ("stdio",),
    ("sdk1", "progress"): ("stdio", "http", "sse"),
    ("sdk1", "together"): ("stdio", "http"),
    ("sdk1", "logging"): ("stdio", "http"),
    ("sdk1", "pings"): ("stdio", "http"),
    ("sdk1", "sampling"): ("stdio", "http"),
    ("sdk1", "elicitation"): ("stdio", "http"),
    ("sdk1", "roots"): ("stdio", "http"),
    ("sdk1", "undeclared"): ("http",),
    ("sdk1", "subscriptions"): ("stdio", "http"),
    ("sdk1", "changes"): ("stdio", "http", "sse"),
    ("sdk1-json", "tour"): ("http",),
    ("sdk1-stateless", "tour"): ("http",),
    ("sdk1-2025-06-18", "tour"): ("stdio", "http"),
    ("sdk1-2025-03-26", "tour"): ("stdio", "http"),
    ("sdk1-2024-11-05", "tour"): ("stdio", "http"),
    ("everything", "tour"): ("stdio", "http", "sse"),
    ("filesystem", "files"): ("stdio",),
    ("memory", "graph"): ("stdio",),
    ("git", "log"): ("stdio",),
    ("mcp1", "tour"): ("stdio", "http", "sse"),
    ("mcp1-json", "tour"): ("http",),
    ("fastmcp", "tour"): ("http",),
    ("toolbox", "queries"): ("stdio", "http"),
    ("moon", "projects"): ("stdio",),
}


def _scripts() -> Iterator[Script]:
    for script in (*own_server.SCRIPTS, *reference_servers.SCRIPTS):
        transports = _CHOSEN.get((script.server, script.name))
        if transports:
            steps = tuple(_steps(script))
            yield replace(script, driver=PYTHON1, transports=transports, steps=steps)


def _steps(script: Script) -> Iterator[Step]:
    """Yield the steps of a script that this client has, and the lists that it would make itself.

    Before it hands on the result of a tool that it does not know, it lists the tools.
    """
    if script.steps[0]["do"] != "list_tools":
        yield {"do": "list_tools"}
    for step in script.steps:
        if step.get("name") == "added":
            yield {"do": "list_tools"}
        if step["do"] != "terminate_session" and step.get("name") != "no_such_tool":
            yield step


SCRIPTS = tuple(_scripts())
