"""What the page is told of servers, connections and errors: names, and no value that is secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..client.client import Client
from ..client.connection.requests import connection_of
from ..errors import McpError
from ..protocol.versions import era_of
from ..recording.conversation import Conversation
from ..recording.recorded_errors import error_facts
from ..recording.redaction import Redactor
from .copying import copied_target
from .login import has_login

_OPENING = ("initialize", "server/discover")


def described_error(error: BaseException | None) -> dict[str, Any] | None:
    """Return an error as the page shows it: ``type``, ``text``, and what to do, if that is known.

    Secrets in it are replaced.
    """
    if error is None:
        return None
    facts = error_facts(error, Redactor())
    hint = error.hint if isinstance(error, McpError) else ""
    return {"hint": hint or None, **facts}


def described_client(client: Client) -> dict[str, Any]:
    """Return what can be told of a client and its server, connected or not."""
    connection = connection_of(client)
    options = connection.options
    version = client.protocol_version
    era = era_of(version) if version is not None else None
    headers = options.headers
    return {
        "target": client.target,
        "copied": copied_target(connection.route.destination, options),
        "transport": client.transport_name if client.is_connected else None,
        "version": version,
        "era": era.value if era is not None else None,
        "server": client.server_info.raw,
        "capabilities": client.capabilities,
        "instructions": client.instructions,
        # The names only: what they are set to is between the program and the server.
        "headers": list(headers) if isinstance(headers, Mapping) else [],
        "headers_are_computed": callable(headers),
        "env": list(options.env or ()),
        "inherit_env": options.inherit_env,
        "auth": _kind_of_auth(options.auth),
        "has_login": has_login(client),
        "answers": sorted(options.handlers.capabilities),
    }


def _kind_of_auth(auth: object) -> str | None:
    if auth is None:
        return None
    return "a bearer token" if isinstance(auth, str) else type(auth).__name__


def described_recording(header: Mapping[str, Any], conversation: Conversation) -> dict[str, Any]:
    """Return the same of a recorded server, as far as the recording tells it."""
    opening: Mapping[str, Any] = {}
    for call in conversation.calls:
        if call.request["method"] in _OPENING and call.answer is not None:
            result = call.answer.get("result")
            opening = result if isinstance(result, dict) else opening
    meta = opening.get("_meta")
    named = meta.get("io.modelcontextprotocol/serverInfo") if isinstance(meta, dict) else None
    version = opening.get("protocolVersion") or _first(opening.get("supportedVersions"))
    era = era_of(version) if isinstance(version, str) else None
    return {
        "target": header.get("target"),
        "transport": header.get("transport"),
        "version": version,
        "era": era.value if era is not None else None,
        "server": named or opening.get("serverInfo") or {},
        "capabilities": opening.get("capabilities") or {},
        "instructions": opening.get("instructions"),
        "recorded": header.get("recorded"),
    }


def _first(values: Any) -> Any:
    return values[0] if isinstance(values, Sequence) and values else None
