"""Servers added to a file and removed from it; comments, order and all else stay as they are."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..entries.applications import APPLICATIONS, FileKind, find_servers, kind_of, project_of
from ..entries.entry import EntryError, read_entry
from ..errors import UsageError
from ..formats.edits import add_table, remove_member, remove_table, set_member
from ..formats.jsonc import JsoncError
from ..net.files import change_file
from ..net.paths import config_folder
from ..net.regular_files import make_private
from ..suggestions import there_is_no
from .reading import MAX_FILE_SIZE, DocumentError, read_document


def add_server(
    path: str | os.PathLike[str], name: str, entry: Mapping[str, Any], *, replace: bool = False
) -> None:
    """Write a server into a file, which is made when it is not there.

    ``entry`` is as in ``mcpServers``: ``command``, ``args``, ``env``, ``cwd`` or ``url``, ``type``,
    ``headers``; the file gets the shape of its application. ``replace``: one of this name may be
    there. The change is atomic, and locked against other processes. A new
    file of this user, and one that gets a value that may be secret, is for its owner alone.

    Raises `UsageError` for an entry or a file that cannot be read, a file that is not written here
    (YAML), or a name that is taken; `OSError` when the file cannot be written. It is then as it
    was.
    """
    _check(name, entry)

    def edit(content: bytes | None) -> bytes:
        text = add_server_to(_text(content), os.fspath(path), name, entry, replace=replace)
        return text.encode()

    change_file(path, edit, limit=MAX_FILE_SIZE, new_mode=0o600 if _is_users(path) else None)
    if _is_users(path) and _has_literals(entry):
        make_private(path)


def _is_users(path: str | os.PathLike[str]) -> bool:
    """Whether a file is for one user, and does not travel with a project."""
    real, own = os.path.realpath(path), str(config_folder(os.environ))
    home = os.path.realpath(os.path.expanduser("~"))
    return real.startswith(os.path.realpath(own) + os.sep) or (
        real.startswith(home + os.sep) and project_of(real, kind_of(real)) == home
    )


def _has_literals(entry: Mapping[str, Any]) -> bool:
    """Whether an entry holds values that may be secret, and not only names of variables."""
    fields = [entry.get("env"), entry.get("headers")]
    texts = [text for field in fields if isinstance(field, Mapping) for text in field.values()]
    return any("${" not in str(text) for text in texts)


def remove_server(path: str | os.PathLike[str], name: str) -> None:
    """Remove a server from a file. Raises what `add_server` raises, and for an unknown name."""

    def edit(content: bytes | None) -> bytes:
        return remove_server_from(_text(content), os.fspath(path), name).encode()

    change_file(path, edit, limit=MAX_FILE_SIZE)


def add_server_to(
    text: str, path: str, name: str, entry: Mapping[str, Any], *, replace: bool = False
) -> str:
    """Return the text of the file at ``path`` with a server added. Raises `UsageError`."""
    kind, before = _writable(path), text
    place = _place(text, path, kind)
    if name in _names(text, path, kind):
        if not replace:
            raise UsageError(f"there is a server {name!r} in {path} already; remove it first")
        if path.lower().endswith(".toml"):
            text = remove_table(text, [*place, name])
    written = in_shape_of(kind.application, entry)
    try:
        if path.lower().endswith(".toml"):
            text = add_table(text, [*place, name], written)
        else:
            text = set_member(text, [*place, name], written)
    except (JsoncError, ValueError) as error:
        raise UsageError(f"{path} cannot be changed: {error}") from None
    if name not in _names(text, path, kind) or not _only_changes(
        [*place, name], before, text, path
    ):
        raise UsageError(f"{path} has its servers in a form that is not changed here")
    return text


def remove_server_from(text: str, path: str, name: str) -> str:
    """Return the text of the file at ``path`` without a server. Raises `UsageError`."""
    kind = _writable(path)
    known = _names(text, path, kind)
    if name not in known:
        raise UsageError(there_is_no("server", name, known, f"in {path}"))
    place = [*_place(text, path, kind), name]
    try:
        is_toml = path.lower().endswith(".toml")
        removed = remove_table(text, place) if is_toml else remove_member(text, place)
    except (JsoncError, KeyError):
        raise UsageError(f"{path} has {name!r} in a form that is not changed here") from None
    if name in _names(removed, path, kind) or not _only_changes(place, text, removed, path):
        raise UsageError(f"{path} has {name!r} in a form that is not changed here")
    return removed


def _only_changes(place: Sequence[str], before: str, after: str, path: str) -> bool:
    return _others(_document(before, path), place) == _others(_document(after, path), place)


def _others(value: Any, place: Sequence[str]) -> str:
    """Return a document without the value at a place, and without empty mappings, for comparing."""
    value = dict(value) if isinstance(value, Mapping) else {}
    below = value.pop(place[0], None)
    if len(place) > 1 and _others(below, place[1:]) != "{}":
        value[place[0]] = _others(below, place[1:])
    return repr(dict(sorted(value.items())))


def _check(name: str, entry: Mapping[str, Any]) -> None:
    if not name.strip() or any(character < " " for character in name):
        raise UsageError("a server needs a name in one line")
    try:
        read_entry(name, dict(entry), APPLICATIONS["mcpclient"], lambda *path, **hint: None)
    except EntryError as error:
        raise UsageError(f"{'.'.join(map(str, error.path)) or name}: {error}") from None


def _text(content: bytes | None) -> str:
    try:
        return (content or b"").decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("the file is not UTF-8") from None


def _writable(path: str) -> FileKind:
    if path.lower().endswith((".yaml", ".yml")):
        raise UsageError(f"YAML is read, but not written: {path}")
    return kind_of(path)


def _document(text: str, path: str) -> Any:
    if not text.strip(" \t\r\n\ufeff"):
        return {}
    try:
        return read_document(text.encode(), path).value
    except DocumentError as error:
        place = path if error.line is None else f"{path}:{error.line}"
        raise UsageError(f"{place}: {error}") from None


def _place(text: str, path: str, kind: FileKind) -> tuple[str, ...]:
    """Return the key that holds the servers: the one that is there, or the application's own."""
    found = find_servers(_document(text, path), kind)
    return kind.key if found is None else found.key


def _names(text: str, path: str, kind: FileKind) -> list[str]:
    found = find_servers(_document(text, path), kind)
    servers = None if found is None else found.servers
    if servers is not None and not isinstance(servers, Mapping):
        raise UsageError(f"the servers in {path} are not an object, so none is added or removed")
    return list(servers or ())


_CODEX = {"headers": "http_headers"}
_OPENCODE = {"env": "environment"}


def in_shape_of(application: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry that ``application`` reads as the same server."""
    given = {key: value for key, value in entry.items() if value not in (None, {}, [])}
    is_remote = "url" in given and "command" not in given
    if application == "opencode":
        command = given.pop("command", None)
        words = [] if command is None else [command, *given.pop("args", ())]
        kind: dict[str, Any] = (
            {"type": "remote"} if is_remote else {"type": "local", "command": words}
        )
        given.pop("type", None)
        return {**kind, **{_OPENCODE.get(key, key): value for key, value in given.items()}}
    if application == "codex":
        given.pop("type", None)
        return {_CODEX.get(key, key): value for key, value in given.items()}
    if application == "gemini" and is_remote and given.pop("type", "http") == "http":
        return {"httpUrl": given.pop("url"), **given}
    if application == "windsurf" and is_remote:
        given.pop("type", None)
        return {"serverUrl": given.pop("url"), **given}
    if application in ("claude-code", "vscode") and is_remote and "type" not in given:
        return {"type": "http", **given}  # without a type it is taken for a command
    return given
