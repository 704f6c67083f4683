"""Every field that an application writes into a server's entry, and its meaning here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, Literal, NamedTuple, Union, get_args


class Field(NamedTuple):
    """A field: its ``name`` here, the ``kind`` of its value, and the ``side`` that it is for.

    ``kind``: ``text``, ``words`` (a list of strings), ``command`` (either), ``texts`` (strings by
    name), ``names`` (of variables), ``references`` (these by name), ``bearer`` (one), ``flag``,
    ``seconds``, ``time`` (in the application's unit), ``milliseconds``, ``transport``, ``naming``,
    or ``any``. ``side``: ``stdio``, ``remote`` or ``both``.
    """

    name: str
    kind: str
    side: str = "both"


_NAMES: dict[Field, tuple[str, ...]] = {
    Field("transport", "transport"): ("type", "transport", "transportType"),
    Field("command", "command", "stdio"): ("command", "cmd"),
    Field("args", "words", "stdio"): ("args", "arguments"),
    Field("env", "texts", "stdio"): ("env", "environment", "envs"),
    Field("env", "names", "stdio"): ("env_vars", "env_keys"),
    Field("env_file", "text", "stdio"): ("envFile", "env_file"),
    Field("bundle", "text", "stdio"): ("bundle",),
    Field("sha256", "text", "stdio"): ("sha256",),
    Field("cwd", "text", "stdio"): ("cwd", "workingDirectory", "working_directory"),
    Field("url", "text", "remote"): ("httpUrl", "url", "serverUrl", "baseUrl", "uri"),
    Field("headers", "texts", "remote"): ("headers", "http_headers"),
    Field("headers", "references", "remote"): ("env_http_headers",),
    Field("headers", "bearer", "remote"): ("bearer_token_env_var",),
    Field("bearer_token", "any", "remote"): ("bearer_token",),
    Field("headers_helper", "text", "remote"): ("headersHelper",),
    Field("oauth", "any", "remote"): ("oauth", "auth"),
    Field("oauth_scopes", "any", "remote"): ("scopes",),
    Field("enabled", "flag"): ("enabled", "isActive"),
    Field("disabled", "flag"): ("disabled",),
    Field("lazy", "flag"): ("lazy",),
    Field("trusted", "flag"): ("trusted",),
    Field("timeout", "time"): ("timeout",),
    Field("timeout", "seconds"): ("tool_timeout_sec",),
    Field("timeout", "milliseconds"): ("tool_timeout_ms",),
    Field("connect_timeout", "seconds"): ("connect_timeout", "startup_timeout_sec"),
    Field("connect_timeout", "milliseconds"): ("startup_timeout_ms", "initTimeout"),
    Field("at_once", "any"): ("at_once", "atOnce"),
    Field("per_minute", "any"): ("per_minute", "perMinute"),
    Field("breaker", "any"): ("breaker",),
    Field("breaker_seconds", "any"): ("breaker_seconds", "breakerSeconds"),
    Field("timeouts", "any"): ("timeouts",),
    Field("include", "words"): (
        *("include", "allowedTools", "allowed_tools", "includeTools", "enabled_tools"),
        "available_tools",
    ),
    Field("exclude", "words"): (
        *("exclude", "disallowedTools", "disallowed_tools", "blockedTools", "blocked_tools"),
        *("excludeTools", "disabled_tools", "disabledTools"),
    ),
    Field("tools", "any"): ("tools",),
    Field("naming", "naming"): ("naming",),
}
FIELDS = {name: field for field, names in _NAMES.items() for name in names}
"""By the name in the file; of two names for one field, the first of this table wins."""

IGNORED = frozenset(
    {
        # Descriptions
        *("name", "title", "displayName", "description", "icon", "version", "gallery", "homepage"),
        *("note", "notes", "author", "license", "repository", "tags", "category", "metadata"),
        *("id", "source", "schema", "$schema", "instructions", "installed", "registry"),
        # Approval of calls, which is the application's own
        *("alwaysAllow", "autoApprove", "trust", "alwaysLoad", "autoStart", "autostart"),
        *("required", "fromGalleryId", "start_on_launch", "bundled", "display_name"),
        # What only one application does
        *("dev", "settings", "watchPaths", "authProviderType"),
        *("targetAudience", "targetServiceAccount", "networkTimeout", "remoteConfigured"),
        *("oauth_resource", "oauth_client_id"),
        *("provider", "providerId", "extension", "remote", "inputs"),
        "supports_parallel_tool_calls",
        *("initializationOptions", "cache", "priority", "retry", "failFast", "faviconUrl"),
        *("connectionTimeout", "useLegacyMcpJson", "role", "debug", "logLevel"),
        *("useShellInterpolation", "chatMenu", "iconPath", "serverInstructions", "requiresOAuth"),
        "startup",
    }
)
"""Known fields that have no effect here, and that restrict nothing."""

_OFF = (None, False, "", "off", "none", "disabled", "auto", "approve", "local")
RESTRICTIVE = frozenset(
    {
        *("sandbox", "sandboxEnabled", "sandbox_enabled", "sandboxMode", "sandbox_mode"),
        *("permissions", "isolation", "readOnly", "read_only", "network", "networkAccess"),
        *("allowNetwork", "allowedHosts", "allowed_hosts", "allowedDomains", "allowed_domains"),
        *("allowedPaths", "allowed_paths", "deniedPaths", "denied_paths"),
        *("default_tools_approval_mode", "approval_mode", "experimental_environment"),
    }
)
"""Fields that restrict a server: a sandbox, a place to run in, approval of each call."""

SANDBOX_FIELDS = frozenset({"sandbox", "sandboxEnabled"})
"""Those of them that are carried out for a server that is started here."""

# These restrict where they are false.
_PERMISSIONS = frozenset({"network", "networkAccess", "allowNetwork"})


def restrictions_in(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an entry that forbid something, by their names in the file.

    A field that is switched off, such as ``"sandbox": false``, forbids nothing.
    """
    found = {
        key: value
        for key, value in entry.items()
        if key in RESTRICTIVE and (value is not True if key in _PERMISSIONS else not _is_off(value))
    }
    if entry.get("sandboxEnabled") is False and isinstance(found.get("sandbox"), Mapping):
        del found["sandbox"]  # VS Code does not carry it out then either
    return found


def _is_off(value: Any) -> bool:
    if isinstance(value, Mapping) and "enabled" in value:
        value = value["enabled"]
    return isinstance(value, (str, bool, type(None))) and value in _OFF


def is_comment(name: str) -> bool:
    """Whether a key serves as a comment, as in JSON files."""
    return name[:1] in ("_", "$", "#") or name.startswith(("//", "x-", "comment"))


TRANSPORT_NAMES: dict[str, str | None] = {
    **dict.fromkeys(("stdio", "local"), "stdio"),
    **dict.fromkeys(("http", "https", "http-stream", "streamable"), "http"),
    **dict.fromkeys(("streamable-http", "streamable_http", "streamablehttp"), "http"),
    "sse": "sse",
    **dict.fromkeys(("ws", "websocket"), "ws"),
    "socket": "socket",
    "remote": None,
}
"""The transports by their names in configuration files, in lower case; None: by the URL."""

NamingStyle = Literal["server__tool", "mcp__server__tool", "server_tool", "tool"]

NAMING_STYLES: tuple[NamingStyle, ...] = get_args(NamingStyle)

Naming = Union[NamingStyle, Callable[[str, str], str]]
"""One of the styles, or a function that takes the server's name and the tool's."""
