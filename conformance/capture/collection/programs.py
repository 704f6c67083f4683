"""Scripts for programs of others that have a client.

The command line of the official Inspector opens a session for one thing that its user wants, which
is the last step; the steps before it are what the program does by itself. Codex does what its model
says, and lists the tools by itself.
"""

from __future__ import annotations

from conformance.capture.collection.parts import call
from conformance.scripts import CODEX, HANDSHAKE, INSPECTOR, STATELESS, Script, Step

_DECLARED = {
    "roots": {"listChanged": True},
    "extensions": {"io.modelcontextprotocol/tasks": {}, "io.modelcontextprotocol/skills": {}},
}
_LEVEL: Step = {"do": "set_log_level", "level": "debug"}
_TOOLS: Step = {"do": "list_tools"}


def _inspected(
    name: str,
    server: str,
    *steps: Step,
    transports: str = "stdio http",
    revision: str = HANDSHAKE,
) -> Script:
    return Script(
        name,
        server,
        steps,
        tuple(transports.split()),
        revision,
        INSPECTOR,
        client={"capabilities": _DECLARED, "roots": []},
    )


def _by_codex(name: str, server: str, *steps: Step, transports: str = "stdio http") -> Script:
    return Script(
        name,
        server,
        (_TOOLS, *steps),
        tuple(transports.split()),
        "2025-06-18",
        CODEX,
        client={"capabilities": {"elicitation": {"form": {}, "url": {}}}},
    )


SCRIPTS = (
    _inspected("sum", "sdk1", _LEVEL, _TOOLS, call("add", a=1, b=2), transports="stdio http sse"),
    _inspected("reading", "sdk1", _LEVEL, {"do": "read_resource", "uri": "test://both"}),
    _inspected(
        "letter",
        "sdk1",
        _LEVEL,
        {"do": "get_prompt", "name": "letter", "arguments": {"to": "Zoë", "tone": "warm"}},
    ),
    _inspected("templates", "sdk1", _LEVEL, {"do": "list_resource_templates"}),
    *(
        _inspected(
            "query",
            "sdk2",
            {
                "do": "listen",
                **dict.fromkeys(("tools", "prompts", "resources"), True),
                "steps": (
                    _LEVEL,
                    *[_TOOLS] * lists,
                    call("query", sql="select", region="Zürich", limit=10, dry=True),
                ),
                "until": {"method": "notifications/message", "count": 0},
            },
            transports=transport,
            revision=STATELESS,
        )
        for transport, lists in (("stdio", 1), ("http", 2))
    ),
    _by_codex(
        "work",
        "sdk1",
        call("add", a=1, b=2),
        call("echo", text="Grüße, 世界, 👋"),
        {"do": "read_resource", "uri": "test://both"},
        call("count", steps=2),
    ),
    _by_codex("queries", "toolbox", call("execute_sql", sql="select 1 as one, 'Grüße' as text")),
    _by_codex("work", "mcp1", call("echo", text="hello"), transports="stdio"),
)
