"""Adding servers to a file and removing them; the rest of the file stays unchanged."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..entries.applications import APPLICATIONS, FileKind, find_servers, kind_of, project_of
from ..entries.entry import EntryError, read_entry
from ..errors import UsageError
from ..formats.jsonc import JsoncError, remove_member, set_member
from ..formats.toml_tables import add_table, remove_table
from ..net.files import change_file, make_private
from ..net.user_folders import config_folder
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
    (YAML), or a name that is taken; `OSError` when the file cannot be written. It is then as it
    was.
    """
    if not name.strip() or any(character < " " for character in name):
        raise UsageError("a server needs a name in one line")
    try:
        checked = dict(entry)
        if "bundle" in entry:
            from ..entries.bundles.manifest import open_entry

            base = project_of(os.fspath(path), kind_of(os.fspath(path)))
            checked = open_entry(entry, "", base, name).raw
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


class _Written:
    """The text of a file, with the names of its servers and the key that holds them."""

    def __init__(self, text: str, path: str) -> None:
        if path.lower().endswith((".yaml", ".yml")):
            raise UsageError(f"YAML is read, but not written: {path}")
        self.is_toml: bool = path.lower().endswith(".toml")
        self.kind: FileKind = kind_of(path)
        self.document: Any = {}
        if text.strip(" \t\r\n\ufeff"):
            try:
                content = text.encode(
                    "utf-8", "surrogateescape"
                )  # the error says where it is not UTF-8
                self.document = read_document(content, path).value
            except DocumentError as error:
                place = path if error.line is None else f"{path}:{error.line}"
                raise UsageError(f"{place}: {error}") from None
        found = find_servers(self.document, self.kind)
        servers = None if found is None else found.servers
        if servers is not None and not isinstance(servers, Mapping):
            raise UsageError(
                f"the servers in {path} are not an object, so none is added or removed"
            )
        self.key: tuple[str, ...] = self.kind.key if found is None else found.key
        self.names: list[str] = list(servers or ())


def add_server_to(
    text: str, path: str, name: str, entry: Mapping[str, Any], *, replace: bool = False
) -> str:
    """Return the text of the file at ``path`` with a server added. Raises `UsageError`."""
    before = _Written(text, path)
    place = [*before.key, name]
    if name in before.names:
        if not replace:
            raise UsageError(f"there is a server {name!r} in {path} already; remove it first")
        if before.is_toml:
            text = remove_table(text, place)
    add = add_table if before.is_toml else set_member
    try:
        text = add(text, place, in_shape_of(before.kind.application, entry))
    except (JsoncError, ValueError) as error:
        raise UsageError(f"{path} cannot be changed: {error}") from None
    after = _Written(text, path)
    if name not in after.names or _differ_beside(place, before, after):
        raise UsageError(f"{path} has its servers in a form that is not changed here")
    return text


def remove_server_from(text: str, path: str, name: str) -> str:
    """Return the text of the file at ``path`` without a server. Raises `UsageError`."""
    before = _Written(text, path)
    if name not in before.names:
        raise UsageError(there_is_no("server", name, before.names, f"in {path}"))
    place = [*before.key, name]
    refusal = UsageError(f"{path} has {name!r} in a form that is not changed here")
    try:
        removed = (remove_table if before.is_toml else remove_member)(text, place)
    except (JsoncError, KeyError):
        raise refusal from None
    after = _Written(removed, path)
    if name in after.names or _differ_beside(place, before, after):
        raise refusal
    return removed


def _differ_beside(place: Sequence[str], before: _Written, after: _Written) -> bool:
    return _others(before.document, place) != _others(after.document, place)


def _others(value: Any, place: Sequence[str]) -> str:
    """Return a document without the value at a place, and without empty mappings, for comparing."""
    value = dict(value) if isinstance(value, Mapping) else {}
    below = value.pop(place[0], None)
    if len(place) > 1 and _others(below, place[1:]) != "{}":
        value[place[0]] = _others(below, place[1:])
    return repr(dict(sorted(value.items())))


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
    if application == "codex":
        return _renamed(given, "headers", "http_headers")
    if application == "gemini" and is_remote and kind in (None, "http"):
        return _renamed(given, "url", "httpUrl")
    if application == "windsurf" and is_remote:
        return _renamed(given, "url", "serverUrl")
    if application in ("claude-code", "vscode") and is_remote:
        kind = kind or "http"  # without a type it is taken for a command
    return {**({} if kind is None else {"type": kind}), **given}


def _renamed(entry: Mapping[str, Any], before: str, after: str) -> dict[str, Any]:
    return {after if key == before else key: value for key, value in entry.items()}
