"""The parts of this package that a copy can have. Every copy has this module.

A part is named by the modules it begins at; their imports come with them. A module that another
one imports inside a function may be left out with its part.
"""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    """A part: its purpose, and its first modules or folders of modules (``auth.``)."""

    purpose: str
    modules: tuple[str, ...]


PARTS: dict[str, Part] = {
    "stdio": Part(
        "one server over stdio: tools, resources, prompts; always included",
        (
            *("client.client", "transports.stdio", "vendoring.manifest", "__main__"),
            *("hints", "suggestions", "jsonrpc.response_id", "net.clocks", "typing_compat"),
        ),
    ),
    "http": Part(
        "servers at http and https URLs, proxies, tcp:// and unix:// sockets",
        (
            *("client.connection.url_routes", "transports.legacy_sse", "transports.line_socket"),
            *(
                "net.proxies",
                "net.process.programs",
                "net.tls",
                "net.http_dates",
                "net.regular_files",
            ),
            *("framing.der", "framing.headers", "framing.socks5", "framing.uri"),
            *("protocol.header_parameters", "recording.redaction", "hints.remote"),
        ),
    ),
    "websocket": Part(
        "servers at ws and wss URLs", ("transports.websocket", "client.connection.url_routes")
    ),
    "auth": Part(
        "OAuth and the other logins, and their storage",
        ("auth.", "net.login.", "errors.authorization", "client.connection.url_routes"),
    ),
    "negotiate": Part(
        "Kerberos and NTLM of the system, at servers and proxies",
        ("net.kerberos",),
    ),
    "answers": Part(
        "what servers ask: elicitation, sampling and roots",
        ("client.answers.answerers",),
    ),
    "hooks": Part("functions around calls", ("client.events.around",)),
    "audit": Part("audit logs", ("client.events.audit", "net.chained_log")),
    "limits": Part(
        "caps and breakers of servers", ("client.connection.caps", "entries.server_limits")
    ),
    "types": Part(
        "returns= of call_tool, templates, annotations for type checkers",
        (*("client.typed_results", "formats.uri_template", "client.connection.client_options"),),
    ),
    "schema": Part("checks of results and forms by JSON Schema", ("protocol.schema.",)),
    "caching": Part("results that servers let clients keep", ("client.connection.cache",)),
    "reconnect": Part("reconnect= of a client", ("client.client_keeper",)),
    "subscriptions": Part(
        "listen(), changes of lists", ("client.feed", "client.subscription", "protocol.listen")
    ),
    "tasks": Part(
        "calls as tasks", ("client.tasks", "client.answers.task_answers", "protocol.tasks")
    ),
    "skills": Part("skills of servers", ("protocol.skills",)),
    "applications": Part(
        "servers in this program: ASGI, SDK objects, functions",
        ("client.connection.applications", "transports.inprocess"),
    ),
    "sandbox": Part("server processes with few rights", ("sandbox.",)),
    "sync": Part("the blocking twin", ("sync", "sync.client", "sync.handlers", "sync.loop_thread")),
    "entries": Part("servers given as mappings, as in a file", ("client.configured",)),
    "config": Part(
        "configuration files, policy, approvals",
        ("config.", "gate.", "formats.", "entries."),
    ),
    "bundles": Part(
        "bundles (.mcpb), and server.json of a registry",
        ("entries.bundles.", "client.configured"),
    ),
    "manager": Part("many servers", ("manager.", "client.feed")),
    "models": Part("tools for language models", ("adapters.", "formats.pick")),
    "recording": Part(
        "traces, recordings and replay",
        (
            *("transports.replaying", "recording.conversation", "recording.transcript"),
            *("net.files", "net.trace_writer"),
        ),
    ),
    "telemetry": Part("OpenTelemetry", ("telemetry",)),
    "testing": Part("cassettes, a pytest fixture, a demo server", ("testing.",)),
    "stubs": Part(
        "typed Python for the tools of a server",
        ("stubs.", "protocol.signatures"),
    ),
    "code": Part("code mode: Python of a model, in a sandbox", ("code.",)),
    "inspector": Part("the inspector in a browser", ("inspector.", "protocol.faults.")),
    "cli": Part(
        "the command line",
        ("cli.", "sessions.", "adapters.limits", "hints.shell"),
    ),
    "bridge": Part(
        "a stdio server in front of another server",
        ("bridging.", "client.answers.peer", "jsonrpc.verbatim"),
    ),
    "gateway": Part("a stdio server in front of many servers", ("gateway.",)),
    "vendor": Part("making such copies", ("vendoring.copying", "vendoring.parts")),
}


TOGETHER: dict[str, tuple[str, ...]] = {
    "sync.login": ("sync", "auth"),
    "sync.manager": ("sync", "manager"),
    "sync.toolbox": ("sync", "models"),
}
"""Modules that come with a combination of parts."""


def parts_of(module: str) -> tuple[str, ...]:
    """Return the parts that a module of this package needs, by its dotted name in it."""
    if module in TOGETHER:
        return TOGETHER[module]
    found, length = "stdio", 0
    for name, part in PARTS.items():
        for root in part.modules:
            is_in = f"{module}.".startswith(root if root.endswith(".") else f"{root}.")
            if is_in and len(root) > length:
                found, length = name, len(root)
    return (found,)
