"""The words of hints: templates, and the spelling of the options and calls in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Callable, Union

Speech = Mapping[str, str]
"""The spelling of options and calls, by their names in a hint."""


PYTHON: Speech = {
    **{name: f"{name}=" for name in ("ca_file", "client_cert", "connect_timeout", "cwd", "env")},
    **{name: f"{name}=" for name in ("max_timeout", "proxy", "timeout", "trace")},
    **dict.fromkeys(("auth", "token"), "auth="),
    "agree": "Give approvals= an Approvals(ask=…), or name the file itself: connect_all(path).",
    "any_certificate": "verify=False accepts any",
    "apart": "Give the command as a list with one item for each word.",
    "best_effort": "Sandbox(…, best_effort=True) starts it with what can be denied",
    "bigger": "Raise max_message_size= if such messages are expected.",
    "call_schema": "Compare the arguments with client.tools[NAME].input_schema.",
    "connect": "Connect first: async with mcpclient.connect(…) as client.",
    "credentials": "Give auth= with credentials that are allowed to do this.",
    "grant_network": "Grant it with Sandbox(network=True).",
    "grant_read": "Grant it with Sandbox(read=['{0}']).",
    "grant_write": "Grant it with Sandbox(write=['{0}']).",
    "handlers": "Give connect() the handler for it: elicitation=, sampling= or roots=.",
    "identify": "Give auth=: a token as a string, or mcpclient.OAuth() for a login in the browser.",
    "log_in": "Log in again, with auth=mcpclient.OAuth().",
    "negotiate": "auth=mcpclient.Negotiate()",
    "proxy_negotiate": "proxy_auth=mcpclient.Negotiate()",
    "offers": "See the server's offers in client.capabilities and client.list_tools().",
    "or_retry": ", or let retry_busy=True do that",
    "resources": "Ask the server which resources it has: client.list_resources().",
    "url": "Give the URL itself as a string, not as a command: {0}",
    "visit": "Let the user visit the URL, then call mcpclient.finish_auth().",
    "unchecked": 'validate="off" checks no results',
}

_NAMES = re.compile(r"\{([a-z_]+)\}")


# Hints that several errors share.
CHECK_ENDPOINT = "Check that the URL is an MCP endpoint; many end in /mcp or /sse."

SERVER_FAILED = "The server has failed: look at its log, or try again later."


def by_field(field: str, otherwise: str, hints: Mapping[Any, str]) -> Callable[[Any], str]:
    """Return a function that looks up the hint of an error by one of its fields."""
    return lambda error: hints.get(getattr(error, field), otherwise)


Hint = Union[str, Callable[[Any], str]]


def looked_up(error: BaseException, hints: Mapping[str, Hint]) -> str:
    """Return the hint for the class of an error, the most derived first; "" for none."""
    found = (hints[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in hints)
    hint = next(found, "")
    return hint if isinstance(hint, str) else hint(error)


def worded(template: str, speech: Speech = PYTHON) -> str:
    """Return a hint with its options and calls filled in; unknown names stay as they are."""
    text, _, about = template.partition("\0")
    text = _NAMES.sub(lambda found: speech.get(found[1], found[0]), text)
    if about:
        text = text.replace("{0}", about).replace("login URL", f"login {about}")
    return text
