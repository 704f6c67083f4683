"""Servers from the entries of files, limited by their scope, and judged before each start."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import NamedTuple

from ..auth.options import IdentityProvider
from ..client.configured import authentication_of
from ..config.config import SETTINGS, Problem, ServerConfig, Severity
from ..config.reading import MAX_FILE_SIZE, ConfigReader, WrittenServer
from ..config.sheet import NamedFiles, named_files, sheet_of
from ..entries.applications import project_of
from ..entries.entry import Entry, EntryError, Report, read_entry
from ..entries.resolve import resolve, written_target
from ..entries.variables import (
    MAX_VALUE_FILE_SIZE,
    Inputs,
    InputsOption,
    Variables,
    folders_of,
    input_specs,
)
from ..errors import UsageError
from ..lazy import manifest, storage
from ..net.files import read_file
from ..net.paths import home_folder
from .gate import Gate, refused

# Styles in which a tool's name begins with its server's, and so cannot be another server's.
_SAFE_NAMING = ("server__tool", "mcp__server__tool")


class JudgedEntry(NamedTuple):
    """One entry: ``server`` is None where it cannot be used."""

    written: WrittenServer
    server: ServerConfig | None
    decision: str


@dataclass(eq=False)
class Entries:
    """A maker of servers from the entries of files; see `load_config` for its options.

    ``start``: the folder that stands for the project in files that belong to none. ``lock``: held
    while an entry is judged again, since questions to the user are asked one at a time.
    """

    gate: Gate
    environ: Mapping[str, str] = field(repr=False)
    inputs: InputsOption = field(repr=False)
    identity_provider: IdentityProvider | None
    start: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    _declared: dict[object, Inputs] = field(default_factory=dict)

    def judge(
        self,
        written: WrittenServer,
        problems: list[Problem],
        enabled: Collection[str] = (),
        vouched: str | None = None,
    ) -> JudgedEntry:
        """Return the outcome for an entry; its mistakes are added to ``problems``.

        ``enabled``: names of servers to take as switched on. ``vouched``: see `Gate.judge`. Raises
        the exceptions of the caller's functions.
        """

        def report(severity: Severity, message: str, *path: str | int, hint: str = "") -> None:
            problems.append(written.problem(severity, message, *path, hint=hint))

        file, warn = written.file, partial(report, "warning")
        try:
            entry = read_entry(written.name, written.entry, file.application, warn)
            exclude = (*entry.exclude, *_switched_off(entry.name, file.tool_switches))
            entry = replace(entry, exclude=exclude)
            if file.scope == "project":
                entry = _limited(entry, warn)
            is_on = written.name in enabled
            server = self._server(written, entry, warn, is_on, vouched)
        except EntryError as error:
            report("error", str(error), *error.path, hint=error.hint)
            return JudgedEntry(written, None, str(error))
        issued = replace(server, judge_again=None)
        if vouched is None and server.scope == "file" and server.sheet is not None:
            vouched = server.sheet.digest(with_files=False)
        again = partial(self._judge_again, written, issued, vouched)
        decision = server.decision if server.state == "ready" else server.reason
        return JudgedEntry(written, replace(server, judge_again=again), decision)

    def _server(
        self,
        written: WrittenServer,
        entry: Entry,
        report: Report,
        switched_on: bool,
        vouched: str | None,
    ) -> ServerConfig:
        file, files = written.file, NamedFiles()
        opened = written.opened
        own_inputs = opened.inputs if opened is not None else ()
        declared = [*input_specs(file.inputs), *own_inputs]
        recalled = Inputs(declared, self.inputs, lambda key: storage.kept_answer(key))
        inputs = self._declared.setdefault(written if own_inputs else file, recalled)
        base, around = file.base, os.path.dirname(os.path.abspath(file.path))
        project, home = project_of(file.path, file.kind), str(home_folder(self.environ))
        is_projects = file.scope in ("project", "file") and project != home
        folders = folders_of(project if is_projects else self.start, around, home)
        read, bare_dollar = partial(_read_values, files), file.application.bare_dollar
        # To find the files that it names, the user is not asked for a value.
        known = Variables(self.environ, Inputs(declared, None), folders, read, bare_dollar)
        find = partial(named_files, entry, written.entry, known, base, around, files)
        # The defaults of its inputs are part of an entry, and so is the content of its bundle. Not
        # so the folder that it is unpacked into: a lock file holds on other machines, too.
        used = inputs.used_in(written.raw)
        counted = {"$inputs": used, "sha256": entry.sha256}
        raw = {**written.raw, **{key: value for key, value in counted.items() if value}}
        server = ServerConfig(
            name=entry.name,
            scope=file.scope,
            source=file.path,
            target=written_target(entry),
            enabled=entry.enabled,
            **{name: getattr(entry, name) for name in SETTINGS},
            raw=raw,
            written=written_target(entry),
            sheet=sheet_of(entry, written.entry, (file.scope, file.path), inputs, find),
            bundle=None if opened is None else opened.bundle,
        )
        if server.sheet is not None and self.gate.needs_approval(file.scope):
            server.sheet.digest()  # which refuses what is too much to look at
        reason = "mcp.excluded of its file names it" if server.name in file.excluded else ""
        if file.allowed is not None and server.name not in file.allowed:
            reason = "mcp.allowed of its file does not name it"
        if reason:
            server = replace(server, state="denied", reason=reason)
        if file.scope == "project" and not entry.cwd and entry.url is None:
            entry = replace(entry, cwd=".")  # where its relative paths begin

        def resolved(server: ServerConfig) -> ServerConfig:
            if own_inputs:
                manifest.require_inputs(own_inputs, written.entry, inputs)
            authenticate = partial(authentication_of, identity_provider=self.identity_provider)
            variables = replace(known, inputs=inputs)
            target, options = resolve(entry, variables, base, read, report, authenticate)
            return replace(server, target=target, options=options)

        return self.gate.judge(server, resolved, switched_on=switched_on, vouched=vouched)

    def _judge_again(
        self,
        judged: WrittenServer,
        issued: ServerConfig,
        vouched: str | None,
        server: ServerConfig,
        switched_on: bool,
        *,
        as_it_is: bool = False,
    ) -> ServerConfig:
        """Return the server as it is allowed now, with the program's changes in ``server``.

        ``issued``: the server that was made of the entry ``judged``. ``as_it_is``: the caller
        vouches for the entry of a named file that has changed. Raises `UsageError` where the file
        or the entry cannot be used any more.
        """
        problems: list[Problem] = []
        fresh = None
        with self.lock:
            self.gate.look_up_rules()
            written = _present(judged, problems)
            if written is not None:
                enabled = [written.name] if switched_on else ()
                vouched = None if as_it_is else vouched
                fresh = self.judge(written, problems, enabled, vouched).server
        if fresh is None:
            for problem in problems:
                if problem.severity == "error":
                    raise UsageError(str(problem))
            reason = f"{server.source} has no server {issued.name!r} any more"
            return refused(server, "denied", reason)
        return _with_changes(fresh, issued, server)


def _present(judged: WrittenServer, problems: list[Problem]) -> WrittenServer | None:
    """Return an entry as its file has it now, None where it has gone."""
    file = judged.file
    try:
        if read_file(file.path, limit=MAX_FILE_SIZE) == file.document.text.encode():
            return judged
    except OSError:
        pass  # which the reader reports
    found = ConfigReader(problems).read(file.place, expected=True)
    named = [each for each in found.servers if each.name == judged.name] if found else ()
    return named[-1] if named else None


def _with_changes(fresh: ServerConfig, issued: ServerConfig, server: ServerConfig) -> ServerConfig:
    """Return the fresh server with the changes that lead from the issued one to ``server``."""
    changed = {
        name: getattr(server, name)
        for name in ("name", *SETTINGS)
        if getattr(server, name) != getattr(issued, name)
    }
    missing = object()
    options = {
        name: value
        for name, value in server.options.items()
        if issued.options.get(name, missing) is not value
    }
    if issued.state == "ready":
        options = {**fresh.options, **options}
    else:  # without its entry's options, the program could not know which ones it replaced
        options.update(fresh.options)
        headers = fresh.options.get("headers")
        if isinstance(headers, Mapping) and "authorization" in map(str.lower, headers):
            options.pop("auth", None)
    if fresh.state != "ready":
        options = dict(server.options)
    return replace(fresh, options=options, **changed)


def _limited(entry: Entry, report: Report) -> Entry:
    """Return a project's entry without the fields that only the user may set."""
    if entry.trusted:
        report(
            "a project's file cannot make a server trusted",
            entry.fields["trusted"],
            hint="say it in a file of your own, or in code",
        )
    naming = entry.naming
    if naming is not None and naming not in _SAFE_NAMING:
        report(
            f"{naming!r} could take the names of another server's tools, so it does not count",
            entry.fields["naming"],
            hint=f"a project's file may say {' or '.join(_SAFE_NAMING)}",
        )
        naming = None
    return replace(entry, trusted=False, naming=naming)


def _switched_off(name: str, patterns: Sequence[str]) -> list[str]:
    found = []
    for pattern in patterns:
        if pattern.startswith(f"{name}_"):
            found.append(pattern[len(name) + 1 :])
        elif fnmatchcase(f"{name}_", pattern):
            found.append("*")
    return found


def _read_values(files: NamedFiles, path: str) -> str:
    content = files.read(path)
    if len(content) > MAX_VALUE_FILE_SIZE:
        raise OSError(errno.EFBIG, f"larger than {MAX_VALUE_FILE_SIZE} bytes")
    return content.decode("utf-8", "replace")
