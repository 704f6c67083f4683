"""Servers added to a file and removed from it."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..client.connection.target_names import derive_name
from ..config.config import ServerConfig
from ..config.reading import (
    MAX_FILE_SIZE,
    ConfigReader,
    DocumentError,
    WrittenServer,
    read_document,
)
from ..config.scopes import Place
from ..config.writing import add_server, remove_server
from ..entries.applications import kind_of, project_of
from ..entries.bundles.archive import Bundle
from ..entries.bundles.manifest import open_entry
from ..entries.bundles.registry import FoundEntry, find_entry
from ..entries.entry import EntryError, read_entry
from ..entries.variables import references
from ..errors import UsageError
from ..gate.gate import Approvals
from ..net.login.terminal import Terminal
from ..net.paths import absolute_path, is_bundle
from ..net.regular_files import read_file
from ..net.user_folders import config_folder
from ..recording.secrets import is_secret_name
from ..suggestions import there_are, there_is_no
from .command import Answer, LocalCommand, choice, either, flag, option, pair, repeated
from .commands import FAILED
from .configured import OURS, agrees, ask_line, load, paths_of, says_yes, split_application
from .layout import one_line
from .parsing import ENV, HEADER, URL_SCHEMES
from .render import writing
from .screen import Screen

_EXAMPLE = "API_TOKEN"
_WHICH_FILE = either(
    choice("--scope", ("project", "user"), "this project's .mcp.json (the default), or the user's"),
    option("--config", "FILE", "another file, of any application"),
)


def file_named(options: argparse.Namespace) -> str:
    """Return the path of the file."""
    if options.config is not None:
        return str(options.config)
    if options.scope == "user":
        return str(config_folder(os.environ) / "mcp.json")
    return absolute_path(".mcp.json")


@LocalCommand(
    "add",
    usage="[OPTION ...] NAME [URL | -- SERVER-COMMAND ...] | [NAME] FILE | "
    "[NAME] SERVER@APPLICATION | --all @APPLICATION",
    options=(
        _WHICH_FILE,
        ENV,
        HEADER,
        option("--bearer-env", "VARIABLE", "environment variable that holds the token of a URL"),
        option("--transport", "NAME", "http or sse, for a URL"),
        repeated("--set", "NAME=VALUE", "value that FILE asks for", type=pair("=", "--set")),
        option("--kind", "KIND", "of server.json: npm, pypi, oci, nuget, mcpb or remote"),
        flag("--all", "all servers of another application, or of FILE"),
        flag("--replace", "replace an entry of this name"),
    ),
    takes_command=True,
    details=(
        "A value such as '${TOKEN}' is expanded when the server connects, so that the file holds "
        "no secret.\n\n"
        "FILE is a bundle (.mcpb) or a server.json of a registry (mcpclient help bundles), or the "
        "file of another application, such as ~/.cursor/mcp.json. Servers of other applications "
        "are taken over with all that they need; mcpclient servers --found lists them. Without "
        "any word, add asks.\n\n"
        "examples:\n"
        "  mcpclient add docs https://example.com/mcp\n"
        "  mcpclient add files --scope user -- npx -y my-server /tmp\n"
        "  mcpclient add api https://example.com/mcp --bearer-env API_TOKEN\n"
        "  mcpclient add weather.mcpb --set 'api_key=${API_KEY}'\n"
        "  mcpclient add --scope user clock@cursor"
    ),
)
def _add(screen: Screen, options: argparse.Namespace) -> Answer:
    if not options.words and options.server_command is None:
        _ask_for_words(options)
    words: Sequence[str] = options.words
    name, *target = words or [""]
    last = words[-1] if len(words) in (1, 2) and options.server_command is None else ""
    taken = taken_from(last)
    if taken is not None:
        return _taken_over(taken, name if target else "", last, screen, options)
    if options.all:
        raise UsageError("add --all takes an application, such as @cursor, or its file")
    if not name:
        raise UsageError("add needs a name for the server")
    return _added(name, target, last, options)


def _ask_for_words(options: argparse.Namespace) -> None:
    """Ask for the server, its name, its file and its token. Raises `UsageError`."""
    if not Terminal().is_interactive:
        raise UsageError("add needs a name for the server")
    given = ask_line("URL of the server, or its command: ")
    is_url = "://" in given
    try:
        words = [given] if is_url else shlex.split(given)
    except ValueError as error:
        raise UsageError(f"{given!r}: {error}") from None
    if not words:
        raise UsageError("add needs a URL, or the command that starts the server")
    usual = derive_name(given if is_url else words)
    name = ask_line(f"Name [{usual}]: ") or usual
    if is_url and not options.bearer_env:
        options.bearer_env = ask_line("Variable that holds its token []: ") or None
    if options.config is None and says_yes("For you, not for this project?"):
        options.scope = "user"
    options.words = [name, *([given] if is_url else [])]
    options.server_command = None if is_url else words


def _added(name: str, target: Sequence[str], last: str, options: argparse.Namespace) -> Answer:
    path = file_named(options)
    is_file = is_bundle(last) or last.lower().endswith(".json")
    found = _in_file(last, path, options) if is_file else None
    if found is not None:
        name, entry = name if target else found.name, found.entry
    else:
        entry = _entry(target, options)
    with writing(path):
        add_server(path, name, entry, replace=options.replace)
        _agree_to(name, options)
    if found is not None:
        return _added_from_file(name, path, found.left_out)
    return Answer({"added": name, "file": path}, f"added {one_line(name)} to {one_line(path)}")


def _agree_to(name: str, options: argparse.Namespace) -> None:
    """Store that the user agrees to an entry that they have just written on a terminal."""
    if options.config is None and Terminal().is_interactive:
        server = load(None).servers.get(name)
        if server is not None and server.state == "needs_approval":
            Approvals().approve(server)


def _taken_over(
    taken: Sequence[Taken], name: str, word: str, screen: Screen, options: argparse.Namespace
) -> Answer:
    """Add servers of another application, to which the user agrees before that."""
    if len(taken) > 1 and (name or not options.all):
        names = ", ".join(each.name for each in taken)
        raise UsageError(f"{word} has several servers: {names}").advise(
            "Add all of them with --all, or one by its name, such as NAME@cursor."
        )
    if dict(options.env) or dict(options.header) or options.bearer_env:
        raise UsageError("--env, --header and --bearer-env are for a server that is added by name")
    path = file_named(options)
    is_ours = kind_of(path).application in OURS
    if not is_ours and any("inputs" in each.entry for each in taken):
        raise UsageError(f"{path} is another application's, which could not read the inputs")
    if Terminal().is_interactive:
        question = f"Add to {one_line(path)}, and connect from now on?"
        if not agrees(question, [each.server for each in taken]):
            return Answer({"added": []}, "nothing was added", exit_code=FAILED)
    elif options.scope == "user" and any(each.server.state == "needs_approval" for each in taken):
        raise UsageError(f"you have not agreed to {word} yet").advise(
            "Run this on a terminal to be asked; entries in the user's file start without asking."
        )
    added = []
    for each in taken:
        own = name or each.name
        try:
            with writing(path):
                add_server(path, own, each.entry, replace=options.replace)
                _agree_to(own, options)
        except UsageError as error:
            if len(taken) == 1:
                raise
            screen.say(f"{own} is not added: {error}")
            continue
        added.append(own)
        if options.scope != "user" and each.secrets():
            fields = ", ".join(each.secrets())
            screen.say(f"{own}: {fields}: written as it is; do not commit {path}")
    text = f"added {', '.join(map(one_line, added))} to {one_line(path)}" if added else ""
    code = 0 if len(added) == len(taken) else FAILED
    return Answer({"added": added, "file": path}, text, exit_code=code)


def _in_file(file: str, path: str, options: argparse.Namespace) -> FoundEntry:
    """Return the entry for a server in a file of its own. ``path``: where it is to be written."""
    values = dict(options.set)
    source = absolute_path(file)
    try:
        if is_bundle(file):
            entry: dict[str, Any] = {"bundle": source, **({"config": values} if values else {})}
            opened = open_entry(entry, "", "")
            found = FoundEntry(opened.name, {**entry, "sha256": opened.raw["sha256"]}, [])
        else:
            document = read_document(read_file(source, limit=MAX_FILE_SIZE), source).value
            found = find_entry(document, os.path.dirname(source), values, options.kind)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}") from None
    except (EntryError, DocumentError) as error:
        place = ".".join(map(str, getattr(error, "path", ()))) or "file"
        raise UsageError(f"{file}: {place}: {error}").advise(error.hint) from None
    env = dict(options.env)
    if env:
        found.entry["env"] = {**found.entry.get("env", {}), **env}
    kind = kind_of(path)
    if kind.application not in OURS and not found.entry.keys().isdisjoint(("bundle", "inputs")):
        message = f"{kind.application}, whose file {path} is, could not read this entry"
        hint = "Leave out --config; of a server.json, give each value with --set."
        raise UsageError(message).advise(hint)
    base = project_of(path, kind)
    if options.scope != "user" and found.entry.get("bundle", "").startswith(base + os.sep):
        found.entry["bundle"] = os.path.relpath(found.entry["bundle"], base).replace(os.sep, "/")
    return found


def _added_from_file(name: str, path: str, left_out: Sequence[str]) -> Answer:
    """Return the answer, with the sheet of the entry: the file wrote that, not the user."""
    server = load(path, foreign=True).servers.get(name)
    lines = [f"added {one_line(name)} to {one_line(path)}; it would start with:"]
    if server is not None and server.sheet is not None:
        lines += [f"  {line}" for line in server.sheet.lines()]
    lines += [f"  --set {one_line(each)}=VALUE may be given, too" for each in left_out]
    return Answer({"added": name, "file": path, "left_out": list(left_out)}, "\n".join(lines))


def _entry(words: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    env, headers = dict(options.env), dict(options.header)
    if options.bearer_env is not None:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", options.bearer_env):
            hint = f"Set a variable to the token, and give its name: --bearer-env {_EXAMPLE}"
            raise UsageError("--bearer-env takes the name of a variable").advise(hint)
        headers["Authorization"] = f"Bearer ${{{options.bearer_env}}}"
    if options.server_command is None and len(words) == 1 and "://" in words[0]:
        if not words[0].lower().startswith(URL_SCHEMES):
            raise UsageError(f"not the URL of a server: {words[0]!r}")
        if env:
            raise UsageError("--env needs a server that is started here")
        kind = {"type": options.transport} if options.transport else {}
        return {**kind, "url": words[0], **({"headers": headers} if headers else {})}
    command = [*words, *(options.server_command or ())]
    if not command:
        raise UsageError("add needs a URL, or the command that starts the server after --")
    if headers or options.transport:
        raise UsageError("--header, --bearer-env and --transport need a URL")
    entry: dict[str, Any] = {"command": command[0], "args": command[1:]}
    return {**entry, **({"env": env} if env else {})}


def _bundles_of(path: str | None) -> dict[str, Bundle]:
    """Return the bundles that servers of a file are in; None: of all files found here."""
    try:
        servers = load(path, foreign=True).servers
    except UsageError:
        return {}
    return {name: each.bundle for name, each in servers.items() if each.bundle is not None}


@LocalCommand("remove", usage="[--scope SCOPE | --config FILE] NAME", options=(_WHICH_FILE,))
def _remove(screen: Screen, options: argparse.Namespace) -> Answer:
    if len(options.words) != 1:
        raise UsageError("remove needs the name of one server")
    (name,) = options.words
    path = file_named(options)
    bundle = _bundles_of(path).get(name)
    with writing(path):
        remove_server(path, name)
    left = [*_bundles_of(path).values(), *_bundles_of(None).values()]
    if bundle is not None and all(each.sha256 != bundle.sha256 for each in left):
        bundle.remove_unpacked()
    told = f"removed {one_line(name)} from {one_line(path)}"
    return Answer({"removed": name, "file": path}, told)


_ENDINGS = (".json", ".jsonc", ".toml", ".yaml", ".yml")
_DOLLAR = re.compile(r"(?<![$\\])\$([A-Za-z_][A-Za-z0-9_]*)")
_RELATIVE = re.compile(r"\.{1,2}[/\\]")
_OF_REGISTRIES = {"packages", "remotes", "server"}


class Taken(NamedTuple):
    """A server of another application's file. ``server``: as it is judged there."""

    name: str
    entry: dict[str, Any]
    server: ServerConfig

    def secrets(self) -> list[str]:
        """Return the fields with values that seem to be secret, and are written out."""
        given = [
            (f"{field} {name}", text)
            for field in ("env", "headers")
            for name, text in self.entry.get(field, {}).items()
            if is_secret_name(name)
        ]
        return [place for place, text in given if "${" not in text]


def taken_from(word: str) -> list[Taken] | None:
    """Return the servers that a word stands for; None for a word that is none of these.

    ``NAME@APPLICATION``, ``@APPLICATION`` for all of its servers, or the path of a file with
    servers. Raises `UsageError` where there are none, and for an entry that cannot be used.
    """
    name, application = split_application(word)
    if application:
        places = paths_of(application)
        if not places:
            raise UsageError(f"there is no file of {application} on this machine").advise(
                "List the servers of other applications with: mcpclient servers --found"
            )
    elif word.lower().endswith(_ENDINGS) and os.path.isfile(os.path.expanduser(word)):
        name, places = "", [os.path.abspath(os.path.expanduser(word))]
        if word.lower().endswith(".json") and _is_of_registry(places[0]):
            return None
    else:
        return None
    found = {each.name: each for path in places for each in _servers_in(path, name)}
    if not found:
        known = sorted({name for path in places for name in load(path, foreign=True).servers})
        said = there_is_no("server", name, known, otherwise=there_are(known)) if name else ""
        raise UsageError(said or f"there is no server that can be used in {' and '.join(places)}")
    return list(found.values())


def _is_of_registry(path: str) -> bool:
    document = ConfigReader([]).document(path)
    value = None if document is None else document.value
    return not isinstance(value, Mapping) or not _OF_REGISTRIES.isdisjoint(value)


def _servers_in(path: str, name: str) -> Iterator[Taken]:
    file = ConfigReader([]).read(Place(path, "file"))
    config = load(path, enabled=None, foreign=True)
    for written in file.servers if file is not None else ():
        if name not in ("", written.name):
            continue
        server = config.servers.get(written.name)
        if server is not None:
            yield Taken(written.name, _entry_of(written), server)
        elif name:
            about = [str(each) for each in config.problems if each.server == name]
            raise UsageError("\n".join(about) or f"{path}: {name!r} cannot be used")


# The fields of an entry that are written as they were read, by their names here.
_WRITTEN_AS = {
    "transport": "type",
    **{name: name for name in ("url", "env", "cwd", "headers", "oauth")},
    **{"env_file": "envFile", "headers_helper": "headersHelper"},
    **{"timeout": "tool_timeout_sec", "connect_timeout": "startup_timeout_sec"},
}


def _entry_of(written: WrittenServer) -> dict[str, Any]:
    """Return an entry as this library's files have it, for a file in another folder."""
    file = written.file
    if file.application.name in OURS and isinstance(written.raw, Mapping):
        entry = dict(written.raw)
    else:
        try:
            read = read_entry(written.name, written.raw, file.application, lambda *p, **h: None)
        except EntryError as error:
            raise UsageError(f"{file.path}: {written.name}: {error}") from None
        command = {"command": read.command[0], "args": [*read.command[1:]]} if read.command else {}
        entry = {
            **command,
            **{key: getattr(read, name) for name, key in _WRITTEN_AS.items()},
            **{"include": [*read.include], "exclude": [*read.exclude]},
            "disabled": not read.enabled,
            **read.restrictions,
        }
    used = references(entry, "input")
    asked = file.inputs if isinstance(file.inputs, list) else []
    inputs = [each for each in asked if isinstance(each, Mapping) and each.get("id") in used]
    if inputs and "inputs" not in entry:
        entry["inputs"] = inputs
    for key in ("command", "cwd", "envFile", "bundle"):
        if isinstance(entry.get(key), str):
            entry[key] = _placed(entry[key], file.base, is_file=key != "command")
    if isinstance(entry.get("args"), list):
        entry["args"] = [_placed(word, file.base) for word in entry["args"]]
    empty: tuple[object, ...] = (None, {}, [], "")
    kept = {key: each for key, each in entry.items() if each is not False and each not in empty}
    if file.application.bare_dollar:  # $NAME is spelled ${NAME}, as all files have it
        kept = json.loads(_DOLLAR.sub(r"${\1}", json.dumps(kept)))
    return kept


def _placed(word: Any, base: str, *, is_file: bool = False) -> Any:
    """Return a word of a command; a relative path begins in the folder of its file."""
    if not isinstance(word, str) or os.path.isabs(word) or word[:1] in ("$", "~", ""):
        return word
    return os.path.normpath(os.path.join(base, word)) if is_file or _RELATIVE.match(word) else word
