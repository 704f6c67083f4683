"""Loading a `Config` from files that are named or found by scope.

Its servers are limited by their scope, and judged again before each start.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ..client.configured import authentication_of
from ..config.config import SETTINGS, Config, Problem, ServerConfig, Severity, Source
from ..config.named_files import NamedFiles, named_files
from ..config.policy.policy import Policy
from ..config.reading import MAX_FILE_SIZE, ConfigFile, ConfigReader, WrittenServer
from ..config.scopes import SCOPES, Place, places_of
from ..config.sheet import sheet_of
from ..entries.entry import Entry, EntryError, Report, read_entry
from ..entries.resolve import resolve, written_target
from ..entries.urls import canonical_url
from ..entries.variables import (
    MAX_VALUE_FILE_SIZE,
    Inputs,
    InputsOption,
    Variables,
    folders_of,
    input_specs,
    references,
)
from ..errors import UsageError
from ..framing.escaping import escape_line
from ..net.network_options import Negotiate
from ..net.paths import absolute_path
from ..net.regular_files import read_file
from ..net.user_folders import home_folder
from ..suggestions import there_are, there_is_no
from .gate import Approvals, Gate, refused

if TYPE_CHECKING:
    from ..auth.options import IdentityProvider

# Styles in which a tool's name begins with its server's, and so cannot be another server's.
_SAFE_NAMING = ("server__tool", "mcp__server__tool")


class JudgedEntry(NamedTuple):
    """One entry: ``server`` is None where it cannot be used."""

    written: WrittenServer
    server: ServerConfig | None
    decision: str


def _recalled_answer(key: str) -> str | None:
    from ..net.login.storage import kept_answer

    answer: str | None = kept_answer(key)
    return answer


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
    home: str = field(init=False)
    _declared: dict[object, Inputs] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home = str(home_folder(self.environ))

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
            if file.tool_switches:
                switched_off = _switched_off(entry.name, file.tool_switches)
                entry = replace(entry, exclude=(*entry.exclude, *switched_off))
            if file.scope == "project":
                entry = _limited(entry, warn)
            is_on = written.name in enabled
            server = self._server(written, entry, warn, is_on, vouched)
        except EntryError as error:
            report("error", str(error), *error.path, hint=error.hint)
            return JudgedEntry(written, None, str(error))
        if vouched is None and server.scope == "file" and server.sheet is not None:
            vouched = server.sheet.digest(with_files=False)
        again = partial(self._judge_again, written, server, vouched)
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
        recalled = Inputs(declared, self.inputs, _recalled_answer)
        inputs = self._declared.setdefault(written if own_inputs else file, recalled)
        base, around = file.base, os.path.dirname(os.path.abspath(file.path))
        is_projects = file.scope in ("project", "file") and file.project != self.home
        folders = folders_of(file.project if is_projects else self.start, around, self.home)
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
            server.sheet.digest()  # refuses what is too much to look at
        reason = "mcp.excluded of its file names it" if server.name in file.excluded else ""
        if file.allowed is not None and server.name not in file.allowed:
            reason = "mcp.allowed of its file does not name it"
        if reason:
            server = replace(server, state="denied", reason=reason)
        if file.scope == "project" and not entry.cwd and entry.url is None:
            entry = replace(entry, cwd=".")  # where its relative paths begin

        def resolved(server: ServerConfig) -> ServerConfig:
            variables = replace(known, inputs=inputs)
            if own_inputs:
                from ..entries.bundles.manifest import require_inputs

                require_inputs(own_inputs, written.entry, variables)
            authenticate = partial(authentication_of, identity_provider=self.identity_provider)
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
        """Return the server as it is allowed now; ``issued`` is what ``judged`` was made into."""
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
                if problem.is_error:
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
        pass  # the reader reports it
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


def _explanation(judged: JudgedEntry, others: Sequence[WrittenServer]) -> str:
    """Return the text for one name. ``others``: entries of it that do not count, weakest first."""
    state = "not used" if judged.server is None else judged.server.state
    lines = [judged.written.name, f"  from: {_place(judged.written)}"]
    lines += [f"  overrides, as a whole: {_place(other)}" for other in reversed(others)]
    lines.append(f"  state: {state}" + (f", {judged.decision}" if judged.decision else ""))
    return "\n".join(map(escape_line, lines))


def _place(written: WrittenServer) -> str:
    file = written.file
    line = file.document.line(written.path)
    where = file.path if line is None else f"{file.path}:{line}"
    return f"{where} (scope {file.scope}, read as a file of {file.application.name})"


def load_config(
    path: str | os.PathLike[str] | None = None,
    *,
    start: str | os.PathLike[str] = ".",
    scopes: Sequence[str] = SCOPES,
    env: Mapping[str, str] | None = None,
    inputs: InputsOption = None,
    policy: Policy | None = None,
    approvals: Approvals | None = None,
    enabled: Collection[str] = (),
    identity_provider: IdentityProvider | None = None,
) -> Config:
    """Load the servers of one file, or of all files that hold for a project.

    Without ``path`` these are, from the weakest to the strongest, and of two servers with one name
    the later counts as a whole:

    - plugin: ``plugins/*/.mcp.json`` in this library's folder of settings (on Linux
      ``~/.config/mcpclient``); one that repeats a configured server is dropped
    - user: ``mcpServers`` of ``~/.claude.json``, and of ``mcp.json`` in that folder
    - project: ``.mcp.json`` in ``start`` and every folder above it, the nearest counts
    - local: ``projects.<folder>.mcpServers`` of the user's two files

    Where there is an enterprise's ``managed-mcp.json`` only that counts (see `enterprise_place`);
    ``allowedMcpServers`` and ``deniedMcpServers`` of its ``managed-settings.json`` always hold.

    ``path`` may be a file of any application: Claude, VS Code, Cursor, Codex, Gemini, Windsurf,
    OpenCode, Zed, Roo, Cline, Continue, Goose; the caller vouches for it as for a target. ``env``:
    where variables are looked up (by default this process's environment). ``inputs``: values for
    ``${input:id}``, or a function that takes an `InputSpec` and returns one, or None.

    ``policy``: servers that it does not allow are ``"denied"``. ``approvals``: servers of a
    project's files need one, or are ``"needs_approval"``; by default earlier approvals count,
    and the user is not asked. With ``path``, approvals are looked at only when they are given.

    ``enabled``: names of servers to take as switched on, whatever their file says.
    ``identity_provider``: the enterprise's, for servers whose ``oauth`` says ``"xaa": true``.

    Mistakes in files are in `Config.problems`. Raises `UsageError` for invalid arguments;
    exceptions of the caller's functions pass through. Blocks while it reads and asks.
    """
    if isinstance(enabled, str):  # in which any part of a name would be found
        raise UsageError("enabled must be a list of names, not a string")
    for scope in scopes:
        if scope not in SCOPES:
            raise UsageError(there_is_no("scope", scope, SCOPES, otherwise=there_are(SCOPES)))
    environ = os.environ if env is None else env
    begin = absolute_path(start)

    def load() -> Config:  # and no partial, whose repr would show the environment
        gate = Gate(policy, approvals)
        entries = Entries(gate, environ, inputs, identity_provider, begin)
        problems = gate.look_up_rules()
        if path is not None:
            places = [Place(os.fspath(path), "file")]
        else:
            places = _places(gate.enterprise, scopes, begin, environ)
        is_expected = path is not None or gate.enterprise is not None
        reader = ConfigReader(problems)
        found = [reader.read(place, expected=is_expected) for place in places]
        files = [file for file in found if file is not None]
        return replace(_Loader(entries, enabled, problems).load(files), load_again=load)

    return load()


def _places(
    enterprise: Place | None, scopes: Sequence[str], start: str, environ: Mapping[str, str]
) -> list[Place]:
    """Return the places of the files that hold for a project, the weakest first."""
    if enterprise is not None:
        return [enterprise]
    chosen = [scope for scope in SCOPES if scope in scopes]
    return [place for scope in chosen for place in places_of(scope, start, environ)]


@dataclass
class _Loader:
    entries: Entries
    enabled: Collection[str]
    problems: list[Problem]

    def load(self, files: Sequence[ConfigFile]) -> Config:
        """Merge the servers of files, the weakest first, and decide on each."""
        sources: list[Source] = []
        by_name: dict[str, list[WrittenServer]] = {}
        for file in files:
            names = tuple(server.name for server in file.servers)
            sources.append(Source(file.path, file.scope, file.application.name, names))
            for server in file.servers:
                by_name.setdefault(server.name, []).append(server)
        judged = {name: self._judged(written) for name, written in by_name.items()}
        self._drop_repeated(judged)
        self._tell_shared_logins(judged)
        return Config(
            servers={name: each.server for name, each in judged.items() if each.server},
            problems=self.problems,
            sources=sources,
            inputs={name: references(each.written.entry, "input") for name, each in judged.items()},
            explanations={
                name: _explanation(
                    each, [other for other in by_name[name] if other is not each.written]
                )
                for name, each in judged.items()
            },
        )

    def _judged(self, written: Sequence[WrittenServer]) -> JudgedEntry:
        """Judge the strongest of the entries of one name.

        A project's entry takes the place of another file's only once the user has agreed to it.
        """
        waiting: list[JudgedEntry] = []
        for each in reversed(written):
            judged = self.entries.judge(each, self.problems, self.enabled)
            if each.file.scope != "project" or self._is_agreed_to(judged.server):
                break
            waiting.append(judged)
        else:
            return waiting[0]
        for other in waiting:
            message = f"{each.file.path} counts until you have agreed to this one"
            self.problems.append(other.written.problem("warning", message))
            judged = judged._replace(decision=f"{judged.decision}; {other.written.file.path} waits")
        return judged

    def _is_agreed_to(self, server: ServerConfig | None) -> bool:
        if server is None or server.state == "ready":
            return server is not None
        return self.entries.gate.approvals.is_approved(server)

    def _drop_repeated(self, judged: dict[str, JudgedEntry]) -> None:
        """Drop the servers of plugins that duplicate another server.

        A server without the user's approval never replaces a plugin's.
        """
        reached: dict[object, str] = {}
        for name in sorted(judged, key=lambda name: judged[name].written.file.scope == "plugin"):
            server = judged[name].server
            if server is None or server.state not in ("ready", "disabled"):
                continue
            if server.scope == "project" and not self._is_agreed_to(server):
                continue
            key = _endpoint(server)
            if server.scope == "plugin" and key in reached:
                message = f"it repeats {reached[key]!r}, so it is dropped"
                problem = judged[name].written.problem
                self.problems.append(problem("warning", message, hint="remove one of them"))
                judged[name] = judged[name]._replace(server=None, decision=message)
            else:
                reached.setdefault(key, name)

    def _tell_shared_logins(self, judged: Mapping[str, JudgedEntry]) -> None:
        """Add a problem for servers with one URL that do not say which account each of them is."""
        seen: dict[object, str] = {}
        for name, each in judged.items():
            server = each.server
            if server is None or not isinstance(server.target, str) or _account(server) is None:
                continue
            other = seen.setdefault(_endpoint(server), name)
            if other != name and not _account(server):
                message = f"it has the URL of {other!r}, and they share one login"
                hint = 'give each an account: "oauth": {"account": "work"}'
                self.problems.append(each.written.problem("warning", message, hint=hint))


def _account(server: ServerConfig) -> str | None:
    """Return the account of a server's login; "": unspecified; None: no login."""
    auth, headers = server.options.get("auth"), server.options.get("headers") or {}
    if auth is None:
        is_known = not isinstance(headers, Mapping) or "authorization" in map(str.lower, headers)
        return None if is_known else ""
    if isinstance(auth, (str, Negotiate)):
        return None
    from ..auth.options import OAuth

    return (auth.account or "") if isinstance(auth, OAuth) else None


def _endpoint(server: ServerConfig) -> object:
    """Return a server's command or URL; two accounts at one URL are different endpoints."""
    if isinstance(server.target, str):
        try:
            return str(canonical_url(server.target)), _account(server) or ""
        except UsageError:
            return server.target
    return tuple(map(str, server.target)) if isinstance(server.target, list) else server.name
