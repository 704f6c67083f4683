"""Violations of the protocol in a server's messages: one list for every command and the page.

`judge.Judge` follows the messages of one connection and judges the server's by the schema
that the negotiated revision publishes, by what both sides have declared, and by the rules of the
specification that no schema holds. `lists` judges the entries of a list by themselves.
"""

from __future__ import annotations

from typing import NamedTuple

# What each code stands for, and the page of the specification with the rule.
CODES: dict[str, tuple[str, str]] = {
    "not-json-rpc": ("output that is not a JSON-RPC message", "basic"),
    "response-id": ("a response without a request, or a second response", "basic#responses"),
    "message": ("a notification or request that does not match its schema", "schema"),
    "result": ("a result that does not match its schema", "schema"),
    "structured-content": (
        "a tool with an output schema returned no structured content",
        "server/tools#output-schema",
    ),
    "output-schema": (
        "structured content that does not match the tool's output schema",
        "server/tools#output-schema",
    ),
    "undeclared": ("a message that needs a capability the server has not declared", "basic"),
    "unsupported": ("a request that needs a capability the client has not declared", "client"),
    "progress": ("progress without a pending request, or that does not increase", "basic/progress"),
    "log-level": (
        "a log message that no request asked for, or below the level that was set",
        "server/utilities/logging",
    ),
    "tool-name": ("a tool name that hosts may reject", "server/tools#tool-names"),
    "duplicate": ("two entries of a list with the same name", "server/tools#tool-names"),
    "tool-schema": ("a tool's schema that cannot be used", "server/tools#tool"),
}


class Fault(NamedTuple):
    """One violation. ``code``: one of `CODES`. ``text``: the violation, with its place in the
    message. ``clause``: the rule, as a revision and a page of the specification.
    """

    code: str
    text: str
    clause: str = ""


def fault(code: str, text: str, revision: str, page: str = "") -> Fault:
    """Return a fault, with the clause of its code unless there is a ``page``."""
    return Fault(code, text, f"{revision or 'all revisions'}/{page or CODES[code][1]}")
