"""Adding servers to a file and removing them; the rest of the file stays unchanged."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..entries.applications import APPLICATIONS, FileKind, find_servers, kind_of, project_of
from ..entries.entry import EntryError, read_entry
from ..errors import UsageError
from ..formats.jsonc import remove_member, set_member
from ..lazy import manifest
from ..net.files import change_file, make_private
from ..net.paths import config_folder
from ..suggestions import there_is_no
from .reading import MAX_FILE_SIZE, DocumentError, read_document


def add_server(
    path: str | os.PathLike[str], name: str, entry: Mapping[str, Any], *, replace: bool = False
) -> None:
    """Write a server into a file, which is created if it does not exist.

    ``entry`` is as in ``mcpServers``: ``command``, ``args``, ``env``, ``cwd`` or ``url``, ``type``,
    ``headers``; the file gets the shape of its application. ``replace``: one of this name may be
    there. The change is atomic, and locked against other processes. A new
    file of this user, and one that gets a value that may be secret, is for its owner alone.

    Raises `UsageError` for an entry or a file that cannot be read, a file that is not written here
    (TOML, YAML), or a name that is taken; `OSError` when the file cannot be written, which is then
    as it was.
    """
    if not name.strip() or any(character < " " for character in name):
        raise UsageError("a server needs a name in one line")
    try:
        checked = dict(entry)
        if "bundle" in entry:
            base = project_of(os.fspath(path), kind_of(os.fspath(path)))
            checked = manifest.open_entry(entry, "", base, name).raw
        read_entry(name, checked, APPLICATIONS["mcpclient"], lambda *path, **hint: None)
    except EntryError as error:
        raise UsageError(f"{'.'.join(map(str, error.path)) or name}: {error}") from None

    def edit(content: bytes | None) -> bytes:
        text = (content or b"").decode("utf-8", "surrogateescape")
        return add_server_to(text, os.fspath(path), name, entry, replace=replace).encode()

    # Whether the file belongs to one user, not to a project.
    real, own = os.path.realpath(path), os.path.realpath(config_folder(os.environ))
    home = os.path.realpath(os.path.expanduser("~"))
    is_users = real.startswith(own + os.sep) or (
        real.startswith(home + os.sep) and project_of(real, kind_of(real)) == home
    )
    change_file(path, edit, limit=MAX_FILE_SIZE, new_mode=0o600 if is_users else None)
    fields = [entry.get("env"), entry.get("headers")]
    texts = [text for field in fields if isinstance(field, Mapping) for text in field.values()]
    if is_users and any("${" not in str(text) for text in texts):
        make_private(path)


def remove_server(path: str | os.PathLike[str], name: str) -> None:
    """Remove a server from a file. Raises what `add_server` raises, and for an unknown name."""

    def edit(content: bytes | None) -> bytes:
        text = (content or b"").decode("utf-8", "surrogateescape")
        return remove_server_from(text, os.fspath(path), name).encode()

    change_file(path, edit, limit=MAX_FILE_SIZE)


class _Servers(NamedTuple):
    """The servers of a file: its kind, the key that holds them, and their names."""

    kind: FileKind
    key: tuple[str, ...]
    names: tuple[str, ...]


def _servers_in(text: str, path: str) -> _Servers:
    if path.lower().endswith((".toml", ".yaml", ".yml")):
        raise UsageError(f"only JSON is written; edit {path} yourself")
    kind, document = kind_of(path), {}
    if text.strip(" \t\r\n\ufeff"):
        try:
            content = text.encode("utf-8", "surrogateescape")  # which says where it is not
            document = read_document(content, path).value
        except DocumentError as error:
            place = path if error.line is None else f"{path}:{error.line}"
            raise UsageError(f"{place}: {error}") from None
    found = find_servers(document, kind)
    names = found.servers if found is not None and isinstance(found.servers, Mapping) else ()
    return _Servers(kind, kind.key if found is None else found.key, tuple(names))


def add_server_to(
    text: str, path: str, name: str, entry: Mapping[str, Any], *, replace: bool = False
) -> str:
    """Return the text of the file at ``path`` with a server added. Raises `UsageError`."""
    kind, key, names = _servers_in(text, path)
    if name in names and not replace:
        raise UsageError(f"there is a server {name!r} in {path} already; remove it first")
    try:
        return set_member(text, [*key, name], in_shape_of(kind.application, entry))
    except ValueError as error:
        raise UsageError(f"{path} cannot be changed: {error}") from None


def remove_server_from(text: str, path: str, name: str) -> str:
    """Return the text of the file at ``path`` without a server. Raises `UsageError`."""
    _, key, names = _servers_in(text, path)
    if name not in names:
        raise UsageError(there_is_no("server", name, names, f"in {path}"))
    return remove_member(text, [*key, name])


def in_shape_of(application: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry that ``application`` reads as the same server."""
    given = {key: value for key, value in entry.items() if value not in (None, {}, [])}
    is_remote = "url" in given and "command" not in given
    kind = given.pop("type", None)
    if application == "opencode":
        words = [given.pop("command"), *given.pop("args", ())] if "command" in given else []
        shape: dict[str, Any] = (
            {"type": "remote"} if is_remote else {"type": "local", "command": words}
        )
        return {**shape, **_renamed(given, "env", "environment")}
    if application == "gemini" and is_remote and kind in (None, "http"):
        return _renamed(given, "url", "httpUrl")
    if application == "windsurf" and is_remote:
        return _renamed(given, "url", "serverUrl")
    if application in ("claude-code", "vscode") and is_remote:
        kind = kind or "http"  # without a type it is taken for a command
    return {**({} if kind is None else {"type": kind}), **given}


def _renamed(entry: Mapping[str, Any], before: str, after: str) -> dict[str, Any]:
    return {after if key == before else key: value for key, value in entry.items()}
