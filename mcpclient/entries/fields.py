"""Every field that an application writes into a server's entry, and its meaning here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, Literal, NamedTuple, Union, get_args


class Field(NamedTuple):
    """A field: its ``name`` here, the ``kind`` of its value, and the ``side`` that it is for.

    ``kind``: ``text``, ``words`` (a list of strings), ``command`` (either), ``texts`` (strings by
    name), ``flag``, ``seconds``, ``time`` (in the application's unit), ``milliseconds``, or
    ``any``. ``side``: ``stdio``, ``remote`` or ``both``.
    """

    name: str
    kind: str
    side: str = "both"


FIELDS = {
    # How it is reached
    "type": Field("transport", "text"),
    "transport": Field("transport", "text"),
    "transportType": Field("transport", "text"),
    "command": Field("command", "command", "stdio"),
    "cmd": Field("command", "command", "stdio"),
    "args": Field("args", "words", "stdio"),
    "arguments": Field("args", "words", "stdio"),
    "env": Field("env", "texts", "stdio"),
    "environment": Field("env", "texts", "stdio"),
    "envs": Field("env", "texts", "stdio"),
    "env_vars": Field("env_names", "any", "stdio"),
    "env_keys": Field("env_names", "any", "stdio"),
    "envFile": Field("env_file", "text", "stdio"),
    "env_file": Field("env_file", "text", "stdio"),
    "bundle": Field("bundle", "text", "stdio"),
    "sha256": Field("sha256", "text", "stdio"),
    "cwd": Field("cwd", "text", "stdio"),
    "workingDirectory": Field("cwd", "text", "stdio"),
    "working_directory": Field("cwd", "text", "stdio"),
    "httpUrl": Field("url", "text", "remote"),
    "url": Field("url", "text", "remote"),
    "serverUrl": Field("url", "text", "remote"),
    "baseUrl": Field("url", "text", "remote"),
    "uri": Field("url", "text", "remote"),
    "headers": Field("headers", "texts", "remote"),
    "http_headers": Field("headers", "texts", "remote"),
    "env_http_headers": Field("header_variables", "texts", "remote"),
    "bearer_token_env_var": Field("bearer_variable", "text", "remote"),
    "bearer_token": Field("bearer_token", "any", "remote"),
    "headersHelper": Field("headers_helper", "text", "remote"),
    "oauth": Field("oauth", "any", "remote"),
    "auth": Field("oauth", "any", "remote"),
    "scopes": Field("oauth_scopes", "any", "remote"),
    # Whether and when
    "enabled": Field("enabled", "flag"),
    "isActive": Field("enabled", "flag"),
    "disabled": Field("disabled", "flag"),
    "lazy": Field("lazy", "flag"),
    "trusted": Field("trusted", "flag"),
    "timeout": Field("timeout", "time"),
    "tool_timeout_sec": Field("timeout", "seconds"),
    "tool_timeout_ms": Field("timeout", "milliseconds"),
    "connect_timeout": Field("connect_timeout", "seconds"),
    "startup_timeout_sec": Field("connect_timeout", "seconds"),
    "startup_timeout_ms": Field("connect_timeout", "milliseconds"),
    # How often, and how long
    "at_once": Field("at_once", "any"),
    "atOnce": Field("at_once", "any"),
    "per_minute": Field("per_minute", "any"),
    "perMinute": Field("per_minute", "any"),
    "breaker": Field("breaker", "any"),
    "breaker_seconds": Field("breaker_seconds", "any"),
    "breakerSeconds": Field("breaker_seconds", "any"),
    "timeouts": Field("timeouts", "any"),
    # Which tools
    "include": Field("include", "words"),
    "allowedTools": Field("include", "words"),
    "allowed_tools": Field("include", "words"),
    "includeTools": Field("include", "words"),
    "enabled_tools": Field("include", "words"),
    "available_tools": Field("include", "words"),
    "exclude": Field("exclude", "words"),
    "disallowedTools": Field("exclude", "words"),
    "disallowed_tools": Field("exclude", "words"),
    "blockedTools": Field("exclude", "words"),
    "blocked_tools": Field("exclude", "words"),
    "excludeTools": Field("exclude", "words"),
    "disabled_tools": Field("exclude", "words"),
    "disabledTools": Field("exclude", "words"),
    "tools": Field("tools", "any"),
    "naming": Field("naming", "text"),
}
"""By the name in the file; of two names for one field, the first of this table wins."""

IGNORED = frozenset(
    {
        # Descriptions
        *("name", "title", "displayName", "description", "icon", "version", "gallery", "homepage"),
        *("note", "notes", "author", "license", "repository", "tags", "category", "metadata"),
        *("id", "source", "schema", "$schema", "instructions", "installed", "registry"),
        # Approval of calls, which is the application's own
        *("alwaysAllow", "autoApprove", "trust", "alwaysLoad", "autoStart"),
        *("autostart", "required", "fromGalleryId"),
        *("start_on_launch", "bundled", "display_name"),
        # What only one application does
        *("dev", "settings", "watchPaths", "authProviderType"),
        *("targetAudience", "targetServiceAccount", "networkTimeout", "remoteConfigured"),
        *("oauth_resource", "oauth_client_id"),
        *("provider", "providerId", "extension", "remote", "inputs"),
        "supports_parallel_tool_calls",
        *("initializationOptions", "cache", "priority", "retry", "failFast", "faviconUrl"),
        *("connectionTimeout", "useLegacyMcpJson", "role", "debug", "logLevel"),
        "useShellInterpolation",
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
        del found["sandbox"]  # which VS Code then does not carry out either
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

TRANSPORTS = tuple(dict.fromkeys(filter(None, TRANSPORT_NAMES.values())))
"""The values of the option ``transport``."""

NamingStyle = Literal["server__tool", "mcp__server__tool", "server_tool", "tool"]

NAMING_STYLES: tuple[NamingStyle, ...] = get_args(NamingStyle)

Naming = Union[NamingStyle, Callable[[str, str], str]]
"""One of the styles, or a function that takes the server's name and the tool's."""
