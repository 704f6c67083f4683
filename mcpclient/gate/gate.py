"""The one function between an entry and its process or connection: start, ask, or refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from os.path import realpath
from typing import TYPE_CHECKING, Any, NamedTuple

from ..client.connection.targets import runs_here
from ..config.config import Problem, ServerConfig, State
from ..config.policy.policy import Policy
from ..config.reading import ConfigReader
from ..config.scopes import Place, enterprise_place
from ..entries.fields import SANDBOX_FIELDS, restrictions_in
from ..entries.resolve import HeadersHelper
from ..errors import UsageError
from ..lazy import OnDemand
from .approvals import Approvals

if TYPE_CHECKING:
    from ..sandbox import rights
else:
    rights = OnDemand("..sandbox.rights", __name__)

_SETTINGS_FILE = "managed-settings.json"


class Judgement(NamedTuple):
    """A server with the ``state`` that was decided, and the ``decision`` in words."""

    server: ServerConfig
    decision: str


class Gate:
    """Judges servers by the lists of the caller and of the enterprise, and by what the user agreed.

    ``policy``: the caller's lists. ``approvals``: who is asked about the entries of files; None:
    what was agreed to earlier counts for a project's files, and for others nobody is asked.
    """

    def __init__(self, policy: Policy | None = None, approvals: Approvals | None = None) -> None:
        self._policy = policy
        self._rules: list[Policy] | None = None
        self._asks_about_files = approvals is not None
        self.approvals: Approvals = approvals or Approvals()
        self.enterprise: Place | None = None

    def look_up_rules(self) -> list[Problem]:
        """Read what the enterprise has decided, as it is now; return what is wrong with its lists.

        Lists that cannot be read allow nothing.
        """
        problems: list[Problem] = []
        self.enterprise = enterprise_place()
        rules = [] if self._policy is None else [self._policy]
        settings = enterprise_place(_SETTINGS_FILE)
        if settings is not None:
            document = ConfigReader(problems).document(settings.path, expected=True)
            policy = Policy(allow=[])
            if document is not None:
                try:
                    policy = Policy.from_settings(document.value)
                except UsageError as error:
                    problems.append(Problem("error", str(error), settings.path, 1))
            rules.append(policy)
        self._rules = rules  # in one step: another thread may be judging
        return problems

    def needs_approval(self, scope: str) -> bool:
        """Return whether the user has to agree to the entries of a file of this scope."""
        return scope == "project" or (scope == "file" and self._asks_about_files)

    def _waits(self, server: ServerConfig, vouched: str | None) -> str | None:
        """Return why a server waits for the user, None when it does not."""
        if self.needs_approval(server.scope):
            reason = "a project's file may start it only after you have agreed"
        elif server.sheet is not None and vouched not in (
            None,
            server.sheet.digest(with_files=False),
        ):
            reason = "its entry has changed since its file was named; reload() takes it as it is"
        else:
            return None
        return None if self.approvals.confirm(server) else reason

    def admit(
        self, server: ServerConfig, *, switched_on: bool = False, as_it_is: bool = False
    ) -> ServerConfig:
        """Return a server as it may be used now: its entry is read and judged again.

        ``state`` and ``reason`` of the server say what was decided. ``switched_on``: it counts as
        enabled. ``as_it_is``: the caller vouches for its file. Blocks while a file is read. Raises
        `UsageError` where its entry cannot be used.
        """
        self.look_up_rules()
        # It was asked for by name when it was loaded.
        switched_on = switched_on or _was_asked_for(server)
        if server.judge_again is not None:
            vouching = {"as_it_is": True} if as_it_is else {}
            server = server.judge_again(server, switched_on, **vouching)
        return self.judge(server, switched_on=switched_on).server

    def judge(
        self,
        server: ServerConfig,
        resolve: Callable[[ServerConfig], ServerConfig] | None = None,
        *,
        switched_on: bool = False,
        vouched: str | None = None,
    ) -> Judgement:
        """Return a server with what is decided about it: ready, or else the state and the reason.

        ``resolve``: puts in the values of its variables, once it is known that it may learn them;
        None: it was made in code, or judged where it was loaded. ``vouched``: the digest of the
        sheet that the caller stood for in naming the file.

        A server that is not ready has no values.
        """
        if self._rules is None:
            self.look_up_rules()
        server = server.with_mapping_read()
        if server.state in ("needs_approval", "denied"):
            return Judgement(server, server.reason)
        is_on = switched_on or (resolve is None and _was_asked_for(server))
        if not is_on and (server.state == "disabled" or not server.enabled):
            where = "configuration" if resolve is None else "file"
            return _refused(server, "disabled", server.reason or f"its {where} switches it off")
        reason = self._refusal(server)
        if reason is not None:
            return _refused(server, "denied", reason)
        if resolve is None:
            ready = server
        elif (reason := self._waits(server, vouched)) is not None:
            return _refused(server, "needs_approval", reason)
        else:
            ready = resolve(server)
        if any(policy.require_sandbox for policy in self._rules or ()):
            ready = in_sandbox(ready)
        reasons = []
        for policy in self._rules or ():
            for each in _judged_parts(ready):
                verdict = policy.judge(each)
                if not verdict.allowed:
                    return _refused(server, "denied", verdict.reason)
                reasons.append(verdict.reason)
        return Judgement(
            replace(ready, state="ready", reason=""), "; ".join(dict.fromkeys(reasons))
        )

    def _refusal(self, server: ServerConfig) -> str | None:
        """Return why a server is refused as written, before anything is asked or read for it."""
        place = self.enterprise
        is_its_own = place is None or server.scope == "enterprise"
        if place is not None and not is_its_own and realpath(server.source) != realpath(place.path):
            return f"{place.path} names all servers that may be used"
        restrictions = _restrictions(server)
        carried_out = SANDBOX_FIELDS if runs_here(server.target) else ()
        for name in restrictions:
            if name not in carried_out:
                return f"its entry asks for {name}, which this client does not carry out"
        if restrictions:
            try:
                rights.sandbox_in(restrictions)
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


def _restrictions(server: ServerConfig) -> Mapping[str, object]:
    if server.sheet is not None:
        return server.sheet.restrictions
    return restrictions_in(server.raw)


def in_sandbox(server: ServerConfig) -> ServerConfig:
    """Return a server that is started in a sandbox, or not at all; others as they are."""
    if not runs_here(server.target):
        return server
    required = strict_sandbox(server.options.get("sandbox"))
    return replace(server, options={**server.options, "sandbox": required})


def strict_sandbox(stated: Any) -> Any:
    """Return a sandbox as one without which its server is not started."""
    if getattr(stated, "best_effort", False):
        return replace(stated, best_effort=False)
    return stated or "required"


def _judged_parts(server: ServerConfig) -> Iterator[ServerConfig]:
    """Yield a server, and the program that makes its headers as one of its own."""
    yield server
    headers = server.options.get("headers")
    if isinstance(headers, HeadersHelper):
        yield replace(server, target=headers.words, written=None, options={})


def _refused(server: ServerConfig, state: State, reason: str) -> Judgement:
    """Return a server without the values of its variables, and with the reason."""
    written = server.target if server.written is None else server.written
    options = {} if server.written is not None else server.options
    refused = replace(server, state=state, reason=reason, target=written, options=options)
    return Judgement(refused, reason)
