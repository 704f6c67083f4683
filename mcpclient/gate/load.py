"""Loading a `Config` from files that are named or found by scope."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ..auth.options import IdentityProvider, OAuth
from ..config.config import Config, Problem, ServerConfig, Source
from ..config.policy.policy import Policy
from ..config.reading import ConfigFile, ConfigReader, WrittenServer
from ..config.scopes import SCOPES, Place, places_of
from ..entries.urls import canonical_url
from ..entries.variables import InputsOption, references
from ..errors import UsageError
from ..framing.escaping import escape_line
from ..net.paths import absolute_path
from ..suggestions import there_are, there_is_no
from .entries import Entries, JudgedEntry
from .gate import Approvals, Gate


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
        elif gate.enterprise is not None:
            places = [gate.enterprise]
        else:
            chosen = [scope for scope in SCOPES if scope in scopes]
            places = [place for scope in chosen for place in places_of(scope, begin, environ)]
        is_expected = path is not None or gate.enterprise is not None
        reader = ConfigReader(problems)
        found = [reader.read(place, expected=is_expected) for place in places]
        files = [file for file in found if file is not None]
        return replace(_Loader(entries, enabled, problems).load(files), load_again=load)

    return load()


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
    return (auth.account or "") if isinstance(auth, OAuth) else None


def _endpoint(server: ServerConfig) -> object:
    """Return the command or URL that identifies a server's endpoint.

    Two accounts at one URL are different endpoints.
    """
    if isinstance(server.target, str):
        try:
            return str(canonical_url(server.target)), _account(server) or ""
        except UsageError:
            return server.target
    return tuple(map(str, server.target)) if isinstance(server.target, list) else server.name
