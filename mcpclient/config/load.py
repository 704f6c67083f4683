"""Files into a `Config`: found by scope or named, read, merged, judged, approved, expanded."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from ..auth.options import IdentityProvider
from ..errors import UsageError
from ..net.files import read_file
from ..net.folders import home_folder
from ..net.paths import absolute_path
from .approvals import Approvals
from .config import Config, Source
from .explain import explanation
from .policy.policy import Policy
from .policy.urls import canonical_url
from .problem import Problem, Severity
from .reading import ConfigFile, ConfigReader, WrittenServer
from .resolve import Resolved, resolve, written_target
from .scopes import SCOPES, Place, check_scopes, enterprise_place, places_of
from .server import ServerConfig, State
from .shapes.applications import project_of
from .shapes.entry import Entry, read_entry
from .shapes.values import EntryError
from .variables import Inputs, InputsOption, Variables, references

__all__ = ["load_config"]

# What an entry may name: an .env file, or one with a token.
_MAX_NAMED_FILE_SIZE = 1024 * 1024
_SETTINGS_FILE = "managed-settings.json"


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
    project's files need one, or are ``"needs_approval"``; by default what was approved earlier
    counts, and nobody is asked. With ``path``, approvals are looked at only when they are given.

    ``enabled``: names of servers to take as switched on, whatever their file says.
    ``identity_provider``: the enterprise's, for servers whose ``oauth`` says ``"xaa": true``.

    What is wrong in a file is in `Config.problems`. Raises `UsageError` for arguments that make no
    sense, and what the functions of the caller raise. Blocks while it reads and asks.
    """
    check_scopes(scopes)
    loader = _Loader(
        environ=os.environ if env is None else env,
        inputs=inputs,
        policies=[] if policy is None else [policy],
        approvals=approvals,
        enabled=enabled,
        identity_provider=identity_provider,
        start=absolute_path(start),
    )
    if path is not None:
        loader.add(Place(os.fspath(path), "file"), expected=True)
        return loader.config()
    loader.add_enterprises_lists(enterprise_place(_SETTINGS_FILE))
    enterprise = enterprise_place()
    if enterprise is not None:
        loader.add(enterprise, expected=True)
        return loader.config()
    for scope in SCOPES:
        if scope in scopes:
            loader.add_scope(scope)
    return loader.config()


@dataclass(frozen=True)
class _Outcome:
    """What became of one name: ``server`` is None when its entry cannot be used."""

    written: list[WrittenServer]
    entry: Entry | None
    server: ServerConfig | None
    decision: str


class _Loader:
    """One run of `load_config`."""

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        inputs: InputsOption,
        policies: list[Policy],
        approvals: Approvals | None,
        enabled: Collection[str],
        identity_provider: IdentityProvider | None,
        start: str,
    ) -> None:
        self._environ = environ
        self._inputs = inputs
        self._policies = policies
        self._approvals = approvals
        self._enabled = enabled
        self._identity_provider = identity_provider
        self._start = start
        self._home = str(home_folder(self._environ))
        self._problems: list[Problem] = []
        self._reader = ConfigReader(self._problems)
        self._files: list[ConfigFile] = []

    def add(self, place: Place, *, expected: bool = False) -> None:
        file = self._reader.read(place, expected=expected)
        if file is not None:
            self._files.append(file)

    def add_scope(self, scope: str) -> None:
        for place in places_of(scope, self._start, self._environ):
            self.add(place)

    def add_enterprises_lists(self, place: Place | None) -> None:
        """Judge by the enterprise's lists as well; if they cannot be read, nothing is allowed."""
        if place is None:
            return
        document = self._reader.document(place.path, expected=True)
        policy = Policy(allow=[])
        if document is not None:
            try:
                policy = Policy.from_settings(document.value)
            except UsageError as error:
                self._problems.append(Problem("error", str(error), place.path, 1))
        self._policies.append(policy)

    def config(self) -> Config:
        """Merge what was added, and decide on each server."""
        by_name: dict[str, list[WrittenServer]] = {}
        for file in self._files:
            for server in file.servers:
                by_name.setdefault(server.name, []).append(server)
        outcomes = {name: self._outcome(written) for name, written in by_name.items()}
        self._drop_repeated(outcomes)
        return Config(
            servers={name: outcome.server for name, outcome in outcomes.items() if outcome.server},
            problems=self._problems,
            sources=[
                Source(
                    file.path,
                    file.scope,
                    file.application.name,
                    tuple(server.name for server in file.servers),
                )
                for file in self._files
            ],
            explanations={
                name: explanation(outcome.written, outcome.entry, outcome.server, outcome.decision)
                for name, outcome in outcomes.items()
            },
        )

    def _outcome(self, written: list[WrittenServer]) -> _Outcome:
        counts = written[-1]
        report = partial(self._report, counts, "warning")
        entry = None
        try:
            entry = read_entry(counts.name, counts.raw, counts.file.application, report)
            server, decision = self._decide(counts, entry)
        except EntryError as error:
            self._report(counts, "error", str(error), *error.path, hint=error.hint)
            return _Outcome(written, entry, None, str(error))
        return _Outcome(written, entry, server, decision)

    def _report(
        self,
        written: WrittenServer,
        severity: Severity,
        message: str,
        *path: str | int,
        hint: str = "",
    ) -> None:
        self._problems.append(written.problem(severity, message, *path, hint=hint))

    def _decide(self, written: WrittenServer, entry: Entry) -> tuple[ServerConfig, str]:
        """Return the server, with the values of its variables only when it is ready."""
        file = written.file
        inputs = Inputs(file.inputs, self._inputs)
        server = ServerConfig(
            name=entry.name,
            scope=file.scope,
            source=file.path,
            target=written_target(entry),
            enabled=entry.enabled,
            include=entry.include,
            exclude=(*entry.exclude, *_switched_off(entry.name, file.tool_switches)),
            trusted=entry.trusted,
            lazy=entry.lazy,
            naming=entry.naming,
            raw=_with_inputs(written.raw, inputs),
            written=written_target(entry),
        )
        refusal = self._refusal(server, file)
        if refusal is not None:
            return replace(server, state=refusal[0], reason=refusal[1]), refusal[1]
        if not self._is_approved(server):
            reason = "a project's file may start it only after you have agreed"
            return replace(server, state="needs_approval", reason=reason), reason
        target, options = self._resolved(written, entry, inputs)
        ready = replace(server, target=target, options=options)
        verdicts = [policy.judge(ready) for policy in self._policies]
        for verdict in verdicts:
            if not verdict.allowed:
                return replace(server, state="denied", reason=verdict.reason), verdict.reason
        return ready, "; ".join(verdict.reason for verdict in verdicts)

    def _refusal(self, server: ServerConfig, file: ConfigFile) -> tuple[State, str] | None:
        """Return why a server is not even looked at further."""
        if not server.enabled and server.name not in self._enabled:
            return "disabled", "the file switches it off"
        for policy in self._policies:
            verdict = policy.denial(server)
            if verdict is not None:
                return "denied", verdict.reason
        if server.name in file.excluded:
            return "denied", "mcp.excluded of its file names it"
        if file.allowed is not None and server.name not in file.allowed:
            return "denied", "mcp.allowed of its file does not name it"
        return None

    def _is_approved(self, server: ServerConfig) -> bool:
        if server.scope == "project":
            if self._approvals is None:
                self._approvals = Approvals()
            return self._approvals.confirm(server)
        return server.scope != "file" or self._approvals is None or self._approvals.confirm(server)

    def _resolved(self, written: WrittenServer, entry: Entry, inputs: Inputs) -> Resolved:
        file = written.file
        project = project_of(file.path, file.kind)
        is_projects = file.scope in ("project", "file") and project != self._home
        workspace = project if is_projects else self._start
        variables = Variables(
            self._environ,
            inputs,
            _folders(workspace, self._home, os.path.dirname(os.path.abspath(file.path))),
            _read_named,
            bare_dollar=file.application.bare_dollar,
        )
        report = partial(self._report, written, "warning")
        target, options = resolve(
            entry, variables, workspace, _read_named, report, self._identity_provider
        )
        if is_projects and file.scope == "project" and isinstance(target, list):
            options.setdefault("cwd", workspace)  # where its relative paths begin
        return target, options

    def _drop_repeated(self, outcomes: dict[str, _Outcome]) -> None:
        """Drop the servers of plugins that reach what another one reaches."""
        reached: dict[object, str] = {}
        names = sorted(outcomes, key=lambda name: _scope_of(outcomes[name]) == "plugin")
        for name in names:
            outcome = outcomes[name]
            server = outcome.server
            if server is None or server.state not in ("ready", "disabled"):
                continue
            key = _endpoint(server)
            if server.scope == "plugin" and key in reached:
                message = f"it repeats {reached[key]!r}, so it is dropped"
                self._report(outcome.written[-1], "warning", message, hint="remove one of them")
                outcomes[name] = _Outcome(outcome.written, outcome.entry, None, message)
            else:
                reached.setdefault(key, name)


def _scope_of(outcome: _Outcome) -> str:
    return outcome.written[-1].file.scope


def _endpoint(server: ServerConfig) -> object:
    """Return what two servers have in common that reach the same: the command, or the URL."""
    if isinstance(server.target, str):
        try:
            return str(canonical_url(server.target))
        except UsageError:
            return server.target
    return tuple(map(str, server.target)) if isinstance(server.target, list) else server.name


def _with_inputs(raw: Mapping[str, Any], inputs: Inputs) -> Mapping[str, Any]:
    """Return an entry with the inputs it refers to, since their defaults are part of it."""
    named = dict.fromkeys(references(str(raw), "input"))
    used = {name: inputs.raw[name] for name in named if name in inputs.raw}
    return {**raw, "$inputs": used} if used else raw


def _switched_off(name: str, patterns: Sequence[str]) -> list[str]:
    """Return which tools of a server patterns of ``server_tool`` names mean."""
    found = []
    for pattern in patterns:
        if pattern.startswith(f"{name}_"):
            found.append(pattern[len(name) + 1 :])
        elif fnmatchcase(f"{name}_", pattern):
            found.append("*")
    return found


def _folders(workspace: str, home: str, around: str) -> dict[str, str]:
    return {
        "workspaceFolder": workspace,
        "workspaceRoot": workspace,
        "workspaceFolderBasename": os.path.basename(workspace),
        "CLAUDE_PROJECT_DIR": workspace,
        "CLAUDE_PLUGIN_ROOT": around,
        "extensionPath": around,
        "userHome": home,
        "cwd": workspace,
        "pathSeparator": os.sep,
        "/": os.sep,
        "fileDirname": around,
    }


def _read_named(path: str) -> str:
    return read_file(path, limit=_MAX_NAMED_FILE_SIZE).decode("utf-8", "replace")
