"""The opening of a connection: the probe and its answers; versions; the handshake."""

from __future__ import annotations

from typing import Any

from conformance.capture.collection.reactions.parts import (
    ANSWER,
    HELLO,
    LIST_TOOLS,
    LOG,
    PING,
    USUAL,
    Plan,
    Reaction,
    Reply,
    error,
    plain,
    reaction,
    stream,
)
from conformance.scripts import HANDSHAKE, STATELESS

_FALL_BACK = (
    "Transports: a client that speaks both eras falls back to initialize when server/discover gets "
    "an error that is not of the stateless era; MUST NOT rely on one code."
)
_PROBED = {
    "unknown-method": error(-32601, "Method not found"),
    "invalid-request": error(-32600, "Not initialized", 400),
    "invalid-params": error(-32602),
    "own-code": error(-32000, "Bad Request: Server not initialized", 400),
    "internal-error": error(-32603),
    "plain-400": plain(400, "Bad Request"),
    "plain-404": plain(404, "Not Found"),
    "plain-405": plain(405, "Method Not Allowed"),
    "plain-406": plain(406),
    "plain-415": plain(415),
    "plain-500": plain(500, "Internal Server Error"),
    "empty-202": plain(202),
    "html-200": Reply(200, {"Content-Type": "text/html"}, body=b"<p>Hello</p>"),
    "forbidden": plain(403, "Forbidden"),
    "busy": plain(503, "Busy", Retry_After="1"),
    "older-ones": error(-32022, "Unsupported", 400, supported=["2025-06-18"]),
    "none-common": error(-32022, "Unsupported", 400, supported=["2031-01-01"]),
    "in-session": error(-32001, "Session not found", 404),
}
_BY_LINES = ("unknown-method", "invalid-params", "internal-error", "older-ones", "none-common")

_PROBES = tuple(
    reaction(
        f"probe-{name}",
        _FALL_BACK,
        Plan({"server/discover": (reply,)}),
        HELLO,
        transports="stdio http" if name in _BY_LINES else "http",
        client={"offers": None},
    )
    for name, reply in _PROBED.items()
)

_NEGOTIATED = (
    "Lifecycle, Version Negotiation: the server answers with another version that it supports; a "
    "client that does not support it SHOULD disconnect."
)
_VERSIONS = tuple(
    reaction(
        f"version-{version}",
        _NEGOTIATED,
        Plan(version=version),
        HELLO,
        transports="stdio http",
        revision=version,
        client={"offers": HANDSHAKE},
    )
    for version in ("2024-10-07", "2024-11-05", "2025-03-26", "2027-01-01", "newest")
)

_DISCOVERED: dict[str, dict[str, Any]] = {
    "older": {"supportedVersions": ["2025-11-25", "2025-06-18"], "capabilities": {}},
    "none": {"supportedVersions": ["2031-01-01"], "capabilities": {}},
    "nothing": {"capabilities": {}},
    "no-object": {"supportedVersions": ["2026-07-28"], "capabilities": []},
}

SESSIONS: tuple[Reaction, ...] = (
    *_PROBES,
    *_VERSIONS,
    *(
        reaction(
            f"discovers-{name}",
            "Versioning: a client SHOULD choose a version that both support, or say that there is "
            "none.",
            Plan({"server/discover": (Reply(result=result),)}),
            HELLO,
            transports="stdio http",
            revision=STATELESS if name == "no-object" else HANDSHAKE,
            client={"offers": None},
        )
        for name, result in _DISCOVERED.items()
    ),
    reaction(
        "discovers-streamed",
        "Streamable HTTP: a client MUST support a JSON object as well as an event stream.",
        Plan({"server/discover": (stream(LOG, ANSWER),)}, is_stateless=True, has_session=False),
        HELLO,
        client={"offers": None},
    ),
    reaction(
        "refuses-hello",
        "Lifecycle, Error Handling: unsupported versions and failed negotiation are reported.",
        Plan({"initialize": (error(-32602, "Unsupported protocol version"),)}),
        transports="stdio http",
    ),
    reaction(
        "refuses-hello-by-500",
        "Streamable HTTP: a status that is no success is reported.",
        Plan({"initialize": (plain(500, "Internal Server Error"),)}),
    ),
    reaction(
        "streams-hello",
        "Streamable HTTP: a client MUST support a JSON object as well as an event stream.",
        Plan({"initialize": (stream(LOG, ANSWER),)}),
        PING,
    ),
    reaction(
        "refuses-initialized",
        "Streamable HTTP: if the server cannot accept a notification, it returns an error status.",
        Plan({"notifications/initialized": (plain(400, "Bad Request"),)}),
        PING,
    ),
    reaction(
        "greets-initialized-by-200",
        "Streamable HTTP: 202 for a notification; what else says success is one.",
        Plan({"notifications/initialized": (plain(200),)}),
        PING,
    ),
    reaction(
        "hello-without-result",
        "JSON-RPC 2.0, 5: result is required on success.",
        Plan({"initialize": (Reply(events=('{"jsonrpc":"2.0","id":1}\n', "{}\n", ANSWER)),)}),
        PING,
        transports="stdio",
    ),
    reaction(
        "pinned-to-stateless",
        "Versioning: without a common version there is no connection.",
        Plan({"server/discover": (error(-32601, "Method not found"),)}),
        transports="stdio http",
        revision=STATELESS,
    ),
    reaction(
        "pages",
        "Pagination: a cursor is opaque; a missing nextCursor is the end; invalid ones SHOULD be "
        "handled gracefully.",
        Plan(
            {
                "tools/list": (
                    Reply(result={"tools": [], "nextCursor": ""}),
                    Reply(result={"tools": []}),
                    Reply(result={"tools": [], "nextCursor": "a"}),
                    Reply(result={"tools": [], "nextCursor": "a"}),
                    Reply(result={"tools": {}}),
                    Reply(result={"tools": [], "nextCursor": 5}),
                    Reply(result={"tools": [1, {"name": 2}]}),
                    Reply(result={"tools": [], "nextCursor": "b"}),
                    error(-32602, "Invalid cursor"),
                    USUAL,
                )
            }
        ),
        *[LIST_TOOLS] * 7,
        transports="stdio http",
    ),
)
