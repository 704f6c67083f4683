"""The one function between an entry and its process or connection: start, ask, or refuse.

A project's file comes with the project, from whoever wrote it, so it may neither start a process
nor learn a secret before the user has seen it. Approvals are stored as digests of the entries'
sheets, so an edited entry, or one that names an edited file, needs a new one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..client.connection.target_names import runs_here
from ..config.config import Problem, ServerConfig, State
from ..config.scopes import Place, enterprise_place
from ..entries.fields import SANDBOX_FIELDS, restrictions_in
from ..errors import UsageError
from ..net.files import change_file
from ..net.process.programs import HeadersFrom
from ..net.regular_files import read_file
from ..net.user_folders import state_folder

if TYPE_CHECKING:
    from ..config.policy.policy import Policy

_SETTINGS_FILE = "managed-settings.json"
_MAX_STORE_SIZE = 4 * 1024 * 1024
_VERSION = 1
_AGREED = "the user has agreed to its entry"


class Approvals:
    """The servers that the user agreed to, in a file of mode 0600 shared by all processes.

    ``ask``: called with a server as written that is not yet approved, whose ``sheet`` says all that
    would be agreed to; True approves it, and anything else does not. That is remembered as long as
    this object. Without ``ask`` the user is not asked, and the server's state is
    ``"needs_approval"``. ``store``: the file (by default ``approvals.json`` in the state folder of
    this user).

    A store that cannot be read, or holds something else, approves nothing.
    """

    def __init__(
        self,
        ask: Callable[[ServerConfig], bool] | None = None,
        store: str | os.PathLike[str] | None = None,
    ) -> None:
        self._ask = ask
        self._path = Path(store) if store is not None else None
        self._refused: set[str] = set()

    @property
    def path(self) -> Path:
        """The file that remembers."""
        return self._path or state_folder(os.environ) / "approvals.json"

    def is_approved(self, server: ServerConfig) -> bool:
        """Whether the user has agreed to this entry; never asks."""
        return _key(server) in self._approved()

    def confirm(self, server: ServerConfig) -> bool:
        """Whether the user agrees to this entry: earlier, or now when there is someone to ask.

        Raises what ``ask`` raises, and `UsageError` for an ``ask`` that is async.
        """
        key = _key(server)
        if key in self._approved():
            return True
        if self._ask is None or key in self._refused:
            return False
        answer: object = self._ask(server)
        if hasattr(answer, "__await__"):
            getattr(answer, "close", lambda: None)()  # so that Python does not warn
            raise UsageError("ask of Approvals cannot be async: return True or False at once")
        if answer is not True:
            self._refused.add(key)
            return False
        self.approve(server)
        return True

    def approve(self, server: ServerConfig) -> None:
        """Remember that the user agrees. Raises `OSError` when it cannot be written."""
        self._refused.discard(_key(server))
        self._change(server, approved=True)

    def revoke(self, server: ServerConfig) -> None:
        """Forget that the user agreed. Raises `OSError` when that cannot be written."""
        self._change(server, approved=False)

    def revoke_all(self) -> int:
        """Forget whatever the user has agreed to, and return the count. Raises `OSError`."""
        count = len(self._approved())
        change_file(self.path, lambda content: _stored(set()), limit=_MAX_STORE_SIZE, private=True)
        return count

    def _change(self, server: ServerConfig, *, approved: bool) -> None:
        def edit(content: bytes | None) -> bytes:
            keys = _keys_in(content) - {_key(server)} | ({_key(server)} if approved else set())
            return _stored(keys)

        change_file(self.path, edit, limit=_MAX_STORE_SIZE, private=True)

    def _approved(self) -> set[str]:
        try:
            return _keys_in(read_file(self.path, limit=_MAX_STORE_SIZE, private=True))
        except OSError:
            return set()


def _key(server: ServerConfig) -> str:
    if server.sheet is not None:
        return server.sheet.digest()
    parts = (realpath(server.source), server.name, server.fingerprint())
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _stored(keys: set[str]) -> bytes:
    return json.dumps({"version": _VERSION, "approved": sorted(keys)}, indent=1).encode()


def _keys_in(content: bytes | None) -> set[str]:
    """Return the digests in a store; none when it holds anything else."""
    try:
        stored = json.loads(content or b"{}")
        keys: object = stored["approved"] if stored["version"] == _VERSION else None
    except (ValueError, RecursionError, LookupError, TypeError):
        return set()
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        return set()
    return set(keys)


class Gate:
    """Judges servers by the lists of the caller and of the enterprise, and by the user's approvals.

    ``policy``: the caller's lists. ``approvals``: who is asked about the entries of files; None:
    earlier approvals count for a project's files, and for others the user is not asked.
    """

    def __init__(self, policy: Policy | None = None, approvals: Approvals | None = None) -> None:
        self._policy = policy
        self._rules: list[Policy] | None = None
        self._asks_about_files = approvals is not None
        self.approvals: Approvals = approvals or Approvals()
        self.enterprise: Place | None = None

    def look_up_rules(self) -> list[Problem]:
        """Read the decisions of the enterprise, as they are now; return the problems of its lists.

        Lists that cannot be read allow nothing.
        """
        problems: list[Problem] = []
        self.enterprise = enterprise_place()
        rules = [] if self._policy is None else [self._policy]
        settings = enterprise_place(_SETTINGS_FILE)
        if settings is not None:
            from ..config.policy.policy import Policy
            from ..config.reading import ConfigReader

            document = ConfigReader(problems).document(settings.path, expected=True)
            policy = Policy(allow=[])
            if document is not None:
                try:
                    policy = Policy.from_settings(document.value)
                except UsageError as error:
                    problems.append(Problem("error", str(error), settings.path, 1))
            rules.append(policy)
        self._rules = rules  # one assignment, because another thread may be judging
        return problems

    def needs_approval(self, scope: str) -> bool:
        """Return whether the user has to agree to the entries of a file of this scope."""
        return scope == "project" or (scope == "file" and self._asks_about_files)

    def _waits(self, server: ServerConfig, vouched: str | None) -> str | None:
        """Return why a server needs the user's approval, or None."""
        if self.needs_approval(server.scope):
            owner = "a project's file" if server.scope == "project" else "this file"
            reason = f"{owner} may start it only after you have agreed"
        elif vouched and server.sheet and server.sheet.digest(with_files=False) != vouched:
            reason = "its entry has changed since its file was named; reload() takes it as it is"
        else:
            return None
        return None if self.approvals.confirm(server) else reason

    def admit(
        self, server: ServerConfig, *, switched_on: bool = False, as_it_is: bool = False
    ) -> ServerConfig:
        """Return a server as it may be used now: its entry is read and judged again.

        ``state`` and ``reason`` of the server hold the decision. ``switched_on``: it counts as
        enabled. ``as_it_is``: the caller vouches for its file. Blocks while a file is read. Raises
        `UsageError` where its entry cannot be used.
        """
        self.look_up_rules()
        # It was asked for by name when it was loaded.
        switched_on = switched_on or _was_asked_for(server)
        if server.judge_again is not None:
            vouching = {"as_it_is": True} if as_it_is else {}
            server = server.judge_again(server, switched_on, **vouching)
        return self.judge(server, switched_on=switched_on)

    def judge(
        self,
        server: ServerConfig,
        resolve: Callable[[ServerConfig], ServerConfig] | None = None,
        *,
        switched_on: bool = False,
        vouched: str | None = None,
    ) -> ServerConfig:
        """Return a server with the decision about it: ready and why, or else state and reason.

        ``resolve``: puts in the values of its variables, once it is known that it may learn them;
        None: it was made in code, or judged where it was loaded. ``vouched``: the digest of the
        sheet that the caller stood for in naming the file.

        A server that is not ready has no values. One that a policy has logs for has these.
        """
        if self._rules is None:
            self.look_up_rules()
        judged = self._judge(server, resolve, switched_on, vouched)
        logs = [policy.audit for policy in self._rules or () if policy.audit]
        if not logs:
            return judged
        from ..client.events.audit import logs_of

        kept = logs_of((judged.options.get("audit"), logs))
        return replace(judged, options={**judged.options, "audit": kept})

    def _judge(
        self,
        server: ServerConfig,
        resolve: Callable[[ServerConfig], ServerConfig] | None,
        switched_on: bool,
        vouched: str | None,
    ) -> ServerConfig:
        server = server.with_mapping_read()
        if server.state in ("needs_approval", "denied"):  # where it was loaded; see `admit`
            return server
        is_on = switched_on or (resolve is None and _was_asked_for(server))
        if not is_on and (server.state == "disabled" or not server.enabled):
            where = "configuration" if resolve is None else "file"
            return refused(server, "disabled", server.reason or f"its {where} switches it off")
        reason = self._refusal(server)
        if reason is not None:
            return refused(server, "denied", reason)
        if resolve is None:
            ready = server
        elif (reason := self._waits(server, vouched)) is not None:
            return refused(server, "needs_approval", reason)
        else:
            ready = resolve(server)
        is_confined = any(policy.require_sandbox for policy in self._rules or ())
        if is_confined and runs_here(ready.target):
            required = strict_sandbox(ready.options.get("sandbox"))
            ready = replace(ready, options={**ready.options, "sandbox": required})
        # Its values may make it another program, or another host, than its entry names.
        reasons = []
        judged, headers = [ready], ready.options.get("headers")
        if isinstance(headers, HeadersFrom):  # the program that makes them is one of its own
            judged.append(replace(ready, target=headers.words, written=None, options={}))
        for policy in self._rules or ():
            for each in judged:
                verdict = policy.judge(each)
                if not verdict.allowed:
                    return refused(server, "denied", verdict.reason)
                reasons.append(verdict.reason)
        if ready.bundle is not None:  # nothing of a server that is denied is written to disk
            from ..entries.entry import EntryError

            try:
                ready.bundle.unpack()
            except EntryError as error:
                return refused(server, "denied", str(error))
        was_asked = resolve is not None and self.needs_approval(server.scope)
        if was_asked or server.decision.endswith(_AGREED):
            reasons.append(_AGREED)
        decision = "; ".join(dict.fromkeys(reasons))
        if (ready.state, ready.reason, ready.decision) == ("ready", "", decision):
            return ready  # as it is without a policy, each time
        return replace(ready, state="ready", reason="", decision=decision)

    def _refusal(self, server: ServerConfig) -> str | None:
        """Return why a server is refused as written, before anything is asked or read for it."""
        place = self.enterprise
        is_its_own = place is None or server.scope == "enterprise"
        if place is not None and not is_its_own and realpath(server.source) != realpath(place.path):
            return f"{place.path} names all servers that may be used"
        sheet = server.sheet
        restrictions = restrictions_in(server.raw) if sheet is None else sheet.restrictions
        carried_out = SANDBOX_FIELDS if runs_here(server.target) else ()
        for name in restrictions:
            if name not in carried_out:
                return f"its entry asks for {name}, which this client does not carry out"
        if restrictions:
            try:
                from ..sandbox.rights import sandbox_in

                sandbox_in(restrictions)
            except UsageError as error:
                return str(error)
        for policy in self._rules or ():
            verdict = policy.denial(server)
            if verdict is not None:
                return verdict.reason
        return None


def _was_asked_for(server: ServerConfig) -> bool:
    """Return whether a server of a file is ready though the file disables it: it was named."""
    return server.scope != "program" and server.state == "ready" and not server.enabled


def strict_sandbox(stated: Any) -> Any:
    """Return a sandbox as one without which its server is not started."""
    if getattr(stated, "best_effort", False):
        return replace(stated, best_effort=False)
    return stated or "required"


def refused(server: ServerConfig, state: State, reason: str) -> ServerConfig:
    """Return a server without the values of its variables, and with the reason."""
    written = server.target if server.written is None else server.written
    options = {} if server.written is not None else server.options
    return replace(server, state=state, reason=reason, target=written, options=options)
