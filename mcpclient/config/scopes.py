"""The paths of configuration files: of each scope, and of each application on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..errors import UsageError
from ..net.user_folders import config_folder, home_folder, named_folder

Scope = Literal["plugin", "user", "project", "local"]

SCOPES: tuple[Scope, ...] = ("plugin", "user", "project", "local")
"""From the weakest to the strongest: of two servers of one name the later one counts."""


@dataclass(frozen=True)
class Place:
    """A possible configuration file, and the scope of its servers.

    ``project``: servers are those that the file has for this project, not those for all.
    """

    path: str
    scope: str
    project: str | None = None


@dataclass(frozen=True)
class FoundConfig:
    """A file of an application on this machine; `load_config` reads its ``path``.

    ``scope`` is ``"user"`` or ``"project"``.
    """

    application: str
    path: str
    scope: str


def places_of(
    scope: str, start: str, environ: Mapping[str, str], platform: str = sys.platform
) -> list[Place]:
    """Return the files of a scope, the weakest first."""
    settings = config_folder(environ, platform)
    own, claude = str(settings / "mcp.json"), str(home_folder(environ, platform) / ".claude.json")
    if scope == "user":
        return [Place(claude, scope), Place(own, scope)]
    if scope == "plugin":
        try:
            plugins = sorted((settings / "plugins").iterdir())
        except OSError:
            return []
        return [Place(str(folder / ".mcp.json"), scope) for folder in plugins]
    folder = Path(os.path.abspath(start))
    folders = [*reversed(folder.parents), folder]
    if scope == "project":
        return [Place(str(each / ".mcp.json"), scope) for each in folders]
    return [Place(path, scope, str(each)) for path in (claude, own) for each in folders]


# The folder of the enterprise's file on each platform; only administrators can write there.
_ENTERPRISE = {
    "win32": tuple(
        f"C:/{each}"
        for each in ("ProgramData/mcpclient", "Program Files/ClaudeCode", "ProgramData/ClaudeCode")
    ),
    "darwin": tuple(f"/Library/Application Support/{each}" for each in ("mcpclient", "ClaudeCode")),
    "linux": ("/etc/mcpclient", "/etc/claude-code"),
}


def enterprise_place(name: str = "managed-mcp.json", platform: str = sys.platform) -> Place | None:
    """Return the enterprise's file of this name, or None when there is none at all.

    ``managed-mcp.json`` has its servers, ``managed-settings.json`` its allow and deny lists. The
    first that exists counts: in ``/etc/mcpclient`` or ``/etc/claude-code`` (Linux), in
    ``/Library/Application Support/mcpclient`` or ``…/ClaudeCode`` (macOS), in
    ``C:\\ProgramData\\mcpclient``, ``C:\\Program Files\\ClaudeCode`` or
    ``C:\\ProgramData\\ClaudeCode`` (Windows). A file that cannot be accessed counts as existing.
    """
    for folder in _ENTERPRISE.get(platform, _ENTERPRISE["linux"]):
        path = os.path.join(folder, name)
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            pass
        return Place(path, "enterprise")
    return None


def application_places(
    start: str, environ: Mapping[str, str], platform: str = sys.platform
) -> Iterator[FoundConfig]:
    """Yield every file that an application may have, whether or not it exists."""
    from ..entries.applications import KINDS

    home = str(home_folder(environ, platform))
    data = named_folder(environ, "XDG_CONFIG_HOME") or f"{home}/.config"
    if platform == "win32":
        data = environ.get("APPDATA") or f"{home}/AppData/Roaming"
    elif platform == "darwin":
        data = f"{home}/Library/Application Support"
    roots = {"~": home, "{data}": data, "{settings}": str(config_folder(environ, platform).parent)}
    kinds = sorted(KINDS, key=lambda kind: kind.application)
    for kind in kinds:
        for folder in kind.folders:
            root, slash, rest = folder.partition("/")
            if folder != ".":
                path = os.path.normpath(f"{roots[root]}{slash}{rest}/{kind.ending}")
                yield FoundConfig(kind.application, path, "user")
    for kind in kinds:
        if "." in kind.folders:
            path = os.path.abspath(os.path.join(start, kind.ending))
            yield FoundConfig(kind.application, path, "project")


def discover_configs(
    *,
    apps: Sequence[str] | None = None,
    start: str | os.PathLike[str] = ".",
    env: Mapping[str, str] | None = None,
) -> list[FoundConfig]:
    """Return the files of MCP applications that are on this machine; none of them is read.

    ``apps``: only the files of these applications. ``start``: the project's folder. ``env``: the
    environment that tells where the user's folders are (by default this process's).

    Raises `UsageError` for an application that is not known.
    """
    from ..entries.applications import KINDS
    from ..suggestions import there_are, there_is_no

    known = sorted({kind.application for kind in KINDS if kind.folders})
    for name in apps or ():
        if name not in known:
            raise UsageError(there_is_no("application", name, known, otherwise=there_are(known)))
    places = application_places(os.fspath(start), os.environ if env is None else env)
    return [
        place
        for place in places
        if (apps is None or place.application in apps) and os.path.isfile(place.path)
    ]
