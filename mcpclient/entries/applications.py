"""The applications, their files, and the peculiarities of each.

Facts from the applications' own documentation and source, November 2026. Where a file could be read
in two ways its name decides first, and the key that holds the servers second."""

from __future__ import annotations

import os
from collections.abc import Mapping, ValuesView
from dataclasses import dataclass
from typing import Any

from ..protocol.wire_object import value_at


@dataclass(frozen=True)
class Application:
    """An application, and how it reads the fields that all of them have.

    ``seconds``: how many a unit of ``timeout`` has; None: it is not documented, and one is assumed.
    ``bare_dollar``: ``$NAME`` is a variable too. ``url_transport``: for a URL without a type;
    None: detected. ``http_falls_back``: a type of ``http`` is detected as well. ``limits_start``:
    ``timeout`` is about starting, not about calls.
    """

    name: str
    seconds: float | None = None
    bare_dollar: bool = False
    url_transport: str | None = None
    http_falls_back: bool = False
    limits_start: bool = False


_SECONDS, _MILLISECONDS = 1.0, 0.001

_PECULIAR = (
    Application("amazon-q", seconds=_MILLISECONDS),
    Application("cline", seconds=_SECONDS, url_transport="sse"),
    Application("codex", url_transport="http"),
    Application("crush", seconds=_SECONDS, bare_dollar=True),
    Application("gemini", seconds=_MILLISECONDS, bare_dollar=True),
    Application("goose", seconds=_SECONDS),
    Application("kiro", seconds=_MILLISECONDS),
    Application("librechat", seconds=_MILLISECONDS),
    Application("opencode", seconds=_MILLISECONDS, limits_start=True),
    Application("qwen", seconds=_MILLISECONDS, bare_dollar=True),
    Application("roo", seconds=_SECONDS),
    Application("vscode", http_falls_back=True),
)


@dataclass(frozen=True)
class FileKind:
    """One kind of file: ``ending`` of its path, ``key`` where its servers stand.

    ``settings``: it holds other settings too, so that it may have no servers. ``folders``: those in
    which it is on a machine: ``.`` is a project's, ``~`` the user's, ``{data}`` the folder of
    application data, ``{settings}`` the folder around this library's.
    """

    application: str
    ending: str
    key: tuple[str, ...] = ("mcpServers",)
    settings: bool = False
    folders: tuple[str, ...] = ()


_SERVERS, _MCP, _MCP_SERVERS = ("servers",), ("mcp",), ("mcp_servers",)
_CONTEXT_SERVERS, _EXTENSIONS = ("context_servers",), ("extensions",)
_AMP, _AUGMENT = ("amp.mcpServers",), ("augment.advanced", "mcpServers")
_BOTH = ("~", ".")
_CODE = "{data}/Code/User/globalStorage"
_CLINE, _ROO = "saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline"

# The first match counts, so longer endings come before shorter ones.
KINDS = (
    FileKind("visual-studio", ".vs/mcp.json", _SERVERS),
    FileKind("vscode", ".vscode/mcp.json", _SERVERS, folders=(".",)),
    FileKind("vscode", ".vscode/settings.json", ("mcp", "servers"), settings=True),
    FileKind("vscode", "Code/User/mcp.json", _SERVERS, folders=("{data}",)),
    FileKind("vscode", "Code/User/settings.json", ("mcp", "servers"), settings=True),
    FileKind("vscode", ".code-workspace", ("settings", "mcp", "servers"), settings=True),
    FileKind("cursor", ".cursor/mcp.json", folders=_BOTH),
    FileKind("roo", ".roo/mcp.json", folders=(".",)),
    FileKind("trae", ".trae/mcp.json"),
    FileKind("amp", ".amp/settings.json", _AMP, settings=True),
    FileKind("amp", "amp/settings.json", _AMP, settings=True),
    FileKind("augment", ".augment/settings.json", settings=True),
    FileKind("roo", "mcp_settings.json", folders=(f"{_CODE}/{_ROO}/settings",)),
    FileKind("kilo", ".kilocode/mcp.json"),
    FileKind("kiro", ".kiro/settings/mcp.json", folders=_BOTH),
    FileKind("amazon-q", ".amazonq/mcp.json"),
    FileKind("amazon-q", "amazonq/mcp.json", folders=("~/.aws",)),
    FileKind("opencode", "opencode.json", _MCP, True, ("~/.config/opencode", ".")),
    FileKind("opencode", "opencode.jsonc", _MCP, True, ("~/.config/opencode", ".")),
    FileKind("opencode", ".agents/mcp.json", (), folders=(".",)),
    FileKind("cline", "cline_mcp_settings.json", folders=(f"{_CODE}/{_CLINE}/settings",)),
    FileKind(
        "claude-desktop", "claude_desktop_config.json", settings=True, folders=("{data}/Claude",)
    ),
    FileKind("claude-code", ".claude.json", settings=True, folders=("~",)),
    FileKind("claude-code", ".claude/settings.json", settings=True),
    FileKind("claude-code", ".claude/settings.local.json", settings=True),
    FileKind("claude-code", "managed-mcp.json"),
    FileKind("claude-code", ".claude-plugin/plugin.json", settings=True),
    FileKind("codex", ".codex-plugin/plugin.json", settings=True),
    FileKind("copilot", ".copilot/mcp-config.json", folders=("~",)),
    FileKind("gemini", ".gemini/settings.json", settings=True, folders=_BOTH),
    FileKind("gemini", "gemini-extension.json", settings=True),
    FileKind("qwen", ".qwen/settings.json", settings=True),
    FileKind("windsurf", "mcp_config.json", folders=("~/.codeium/windsurf",)),
    FileKind("codex", ".codex/config.toml", _MCP_SERVERS, True, _BOTH),
    FileKind("codex", "config.toml", _MCP_SERVERS, settings=True),
    FileKind("zed", ".zed/settings.json", _CONTEXT_SERVERS, True, (".",)),
    FileKind("zed", "zed/settings.json", _CONTEXT_SERVERS, True, ("~/.config",)),
    FileKind("crush", ".crush.json", _MCP, True, (".",)),
    FileKind("crush", "crush.json", _MCP, True, ("~/.config/crush", ".")),
    FileKind("goose", "goose/config.yaml", _EXTENSIONS, True, ("~/.config",)),
    FileKind("goose", "goose/config/config.yaml", _EXTENSIONS, True, ("{data}/Block",)),
    FileKind("librechat", "librechat.yaml", settings=True),
    FileKind("continue", ".yaml", settings=True),
    FileKind("continue", ".yml", settings=True),
    FileKind("mcpclient", "mcpclient/mcp.json", folders=("{settings}",)),
    FileKind("claude-code", ".mcp.json", folders=(".",)),
)

APPLICATIONS = {
    **{kind.application: Application(kind.application) for kind in KINDS},
    **{application.name: application for application in _PECULIAR},
}

# Keys of the servers in files with other names, and the application of each key.
_BY_KEY = (
    (("mcpServers",), None),
    (_CONTEXT_SERVERS, "zed"),
    (_MCP_SERVERS, "codex"),
    (("mcp", "servers"), "vscode"),
    (_AMP, "amp"),
    (_AUGMENT, "augment"),
    (_MCP, "opencode"),
    (_SERVERS, "vscode"),
)
_REACHES = frozenset({"command", "url", "httpUrl", "serverUrl"})


def kind_of(path: str) -> FileKind:
    """Return the kind of a file by its path."""
    spelled = "/" + path.replace("\\", "/").lower()
    for kind in KINDS:
        ending = kind.ending.lower()
        is_suffix = ending.startswith(".") and "/" not in ending
        if spelled.endswith(ending if is_suffix else f"/{ending}"):
            return kind
    return FileKind("mcpclient", "")


def project_of(path: str, kind: FileKind) -> str:
    """Return the folder that a project's file is about, which is around an application's folder."""
    # Links are resolved: an approval for one project must not start a server of another.
    folder = os.path.dirname(os.path.realpath(path))
    for _ in range(kind.ending.count("/")):
        folder = os.path.dirname(folder)
    parts = folder.replace("\\", "/").split("/")
    if kind.application == "continue" and ".continue" in parts:
        folder = os.sep.join(parts[: parts.index(".continue")])
    return folder


@dataclass(frozen=True)
class Found:
    """The servers of a document: ``key`` leads to them, ``application`` says how to read them.

    ``others``: keys of other applications that hold servers as well, and are not read.
    """

    key: tuple[str, ...]
    servers: Any
    application: Application
    others: tuple[str, ...] = ()


def find_servers(document: Any, kind: FileKind) -> Found | None:
    """Return the place of the servers in a document, or None when it has none at all.

    The key of the file's own application is read before other applications' keys.
    """
    own = APPLICATIONS[kind.application]
    within = value_at(document, (*_MCP, "servers"))  # where OpenCode 2 has them
    if kind.key == _MCP and isinstance(within, Mapping) and _REACHES.isdisjoint(within):
        return Found((*_MCP, "servers"), within, own)
    named = [(kind.key, None)] if kind.ending and kind.key else []
    found = [
        Found(key, servers, APPLICATIONS[name] if name and name != own.name else own)
        for key, name in dict.fromkeys([*named, *_BY_KEY])
        for servers in [value_at(document, key)]
        # A manifest may name another file in place of the servers.
        if servers is not None and not (kind.settings and isinstance(servers, str))
        if key in (kind.key, ("mcpServers",)) or _holds_servers(servers)
    ]
    if found:
        first = found[0]
        others = tuple(".".join(other.key) for other in found[1:] if other.key[:1] != first.key[:1])
        return Found(first.key, first.servers, first.application, others)
    if isinstance(document, Mapping) and not kind.settings:
        entries = [entry for name, entry in document.items() if not name.startswith("$")]
        if not kind.key or (
            _holds_servers(document) and all(isinstance(entry, Mapping) for entry in entries)
        ):
            return Found((), document, own)
    return None


def _holds_servers(value: Any) -> bool:
    """Return whether a value looks like servers by name, and not like other settings."""
    entries = value.values() if isinstance(value, Mapping) else value
    return isinstance(entries, (list, ValuesView)) and any(
        isinstance(entry, Mapping) and not _REACHES.isdisjoint(entry) for entry in entries
    )
