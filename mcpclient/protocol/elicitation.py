"""Elicitation: requests of a server for input from a user, and answers that fit.

Sources: the "Elicitation" pages of revisions 2025-06-18 to 2026-07-28, SEP-1034 (defaults),
SEP-1330 (choices) and SEP-1036 (URL mode).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..errors import ProtocolViolation
from .wire_object import Converted, Field, ServerRequest, object_in, strings_in

ACTIONS = ("accept", "decline", "cancel")


class ElicitationRequest(ServerRequest):
    """A request of the server for input from the user."""

    message: Field[str] = Field("message", (str,), "", "What is asked and why, for the user.")
    mode: Field[str] = Field("mode", (str,), "form", '``"form"`` or ``"url"``.')
    url: Field[str | None] = Field("url", (str,), None, "Where the user should go (URL mode).")
    elicitation_id: Field[str | None] = Field(
        "elicitationId", (str,), None, "The name of a visit (URL mode until 2025-11-25)."
    )
    schema: Converted[dict[str, Any]] = Converted(
        "requestedSchema",
        object_in,
        "The JSON Schema of the form: an object of simple fields, exactly as sent.",
    )

    @property
    def fields(self) -> dict[str, dict[str, Any]]:
        """The schema of each field of the form, by its name."""
        properties = object_in(self.schema.get("properties"))
        return {name: field for name, field in properties.items() if isinstance(field, dict)}

    @property
    def required(self) -> list[str]:
        """The names of the fields that must be filled in."""
        return strings_in(self.schema.get("required"))

    @property
    def defaults(self) -> dict[str, Any]:
        """The default of every field that has one."""
        return {name: field["default"] for name, field in self.fields.items() if "default" in field}

    @property
    def host(self) -> str:
        """The host that a browser goes to, to be shown with emphasis: in ASCII, and in lower case.

        Empty in form mode, and for a URL that no handler is ever given.
        """
        from ..framing.browser_url import browser_host

        return browser_host(self.url or "")

    @property
    def url_warnings(self) -> list[str]:
        """The warnings to show before the user opens the URL."""
        if self.url is None:
            return []
        url, host = self.url, self.host
        if not host:
            return ["browsers and other programs do not read this URL in the same way"]
        from ..framing.uri import LOOPBACK_HOSTS

        warnings = []
        if not url.lower().startswith("https:") and host.strip("[]") not in LOOPBACK_HOSTS:
            warnings.append("the connection would not be encrypted")
        if "@" in re.split("[/?#]", url, maxsplit=3)[2]:
            warnings.append("the part before the @ only looks like the name of a host")
        if any(label.startswith("xn--") for label in host.split(".")):
            warnings.append("the host has letters that can look like others")
        return warnings


def check_request(request: ElicitationRequest, modes: Mapping[str, object]) -> None:
    """Raise `ProtocolViolation` for a request in none of the declared modes, or a broken one."""
    if request.mode not in modes:
        raise ProtocolViolation(f"elicitation mode {request.mode!r} was not declared")
    if request.mode == "url":
        if not request.host:
            raise ProtocolViolation(
                "elicitation/create came without an http or https URL that all programs read alike"
            )
    elif not isinstance(request.schema.get("properties"), dict):
        raise ProtocolViolation("elicitation/create came without a requestedSchema of properties")
    if not isinstance(request.raw.get("message"), str):
        raise ProtocolViolation("elicitation/create came without a message for the user")


def with_defaults(request: ElicitationRequest, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content, with the defaults of the form for the fields that are missing."""
    return {**request.defaults, **content}


def content_problem(content: Mapping[str, Any]) -> str | None:
    """Return why no form can hold an answer's content; None when one can.

    A value is a string, a number, a boolean or a list of strings, and nothing else
    (``ElicitResult`` in ``schema.ts``). The text names fields, never values.
    """
    for name, value in content.items():
        if not isinstance(name, str):
            return "the name of a field is not a string"
        is_choice = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if not is_choice and not isinstance(value, (str, int, float, bool)):
            return f"{name} must be a string, a number, a boolean or a list of strings"
    return None
