"""The same scripts again, by the clients of the Python SDK, which share no code with the others.

Left out are scripts for what those clients have no way to do: cancelling, tasks, logging in, and
in the stateless era another level of log messages in mid-session; and steps with which a session
could not go on: an answer that does not fit its form, which this library does not send.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from conformance.capture.collection import own_server, reference_servers, stateless
from conformance.scripts import PYTHON1, PYTHON2, Script, Step

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
    ("sdk1-odd-case", "tour"): ("http",),
    ("sdk1-chatty", "tour"): ("http", "sse"),
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

_STATELESS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("sdk2", "tour"): ("stdio", "http"),
    ("sdk2", "errors"): ("stdio", "http"),
    ("sdk2", "together"): ("http",),
    ("sdk2", "headers"): ("stdio", "http"),
    ("sdk2", "asks"): ("stdio", "http"),
    ("sdk2", "declines"): ("http",),
    ("sdk2", "odd-headers"): ("http",),
    ("sdk2-insatiable", "states"): ("stdio", "http"),
    ("sdk2-insatiable", "rounds"): ("http",),
    ("sdk2", "undeclared"): ("stdio", "http"),
    ("sdk2", "listen"): ("stdio", "http"),
    ("sdk2-cached", "lists"): ("http",),
    ("sdk2-cached", "changed-while-fresh"): ("http",),
    ("mcp2", "tour"): ("stdio", "http"),
    ("fastmcp", "tour"): ("http",),
    ("time", "noon"): ("stdio",),
    ("sdk1", "fallback"): ("stdio", "http"),
    ("mcp1", "fallback"): ("stdio",),
}


_LEFT_OUT = ("no_such_tool", "asking")


def _scripts() -> Iterator[Script]:
    for driver, chosen, scripts in (
        (PYTHON1, _CHOSEN, (*own_server.SCRIPTS, *reference_servers.SCRIPTS)),
        (PYTHON2, _STATELESS, stateless.SCRIPTS),
    ):
        for script in scripts:
            transports = chosen.get((script.server, script.name))
            if transports:
                steps = tuple(_steps(script))
                yield replace(script, driver=driver, transports=transports, steps=steps)


def _steps(script: Script) -> Iterator[Step]:
    """Yield the steps of a script that this client has, and the lists that it would make itself.

    Before it hands on the result of a tool that it does not know, it lists the tools.
    """
    if script.steps[0]["do"] != "list_tools":
        yield {"do": "list_tools"}
    for step in script.steps:
        if step.get("name") == "added":
            yield {"do": "list_tools"}
        if step["do"] != "terminate_session" and step.get("name") not in _LEFT_OUT:
            yield step


SCRIPTS = tuple(_scripts())
