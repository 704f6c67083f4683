"""The judgement over one server: what the lists say of its name, its command and its URL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Union

from ...client.link.targets import Target, destination_of, entry_of
from ...errors import UsageError
from ...net.process.programs import links_of
from ..server import ServerConfig
from .rules import CommandRule, NameRule, Rule, UrlRule, read_rule
from .urls import CanonicalUrl, canonical_url

__all__ = ["Policy", "Verdict"]

# Variables that decide which program a name stands for, or what runs inside it.
_STEERING = frozenset(
    {
        *("PATH", "PATHEXT", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT"),
        *("DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "BASH_ENV", "ENV", "NODE_OPTIONS"),
        *("NODE_PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT"),
        "JAVA_TOOL_OPTIONS",
    }
)
_STEERING_PREFIXES = ("NPM_CONFIG_", "UV_INDEX", "UV_DEFAULT_INDEX", "PIP_INDEX", "PIP_EXTRA_INDEX")

# What can be judged of a target: a command, a URL, or neither (a transport made in code).
_Judged = Union[tuple[str, ...], CanonicalUrl, None]


@dataclass(frozen=True)
class Verdict:
    """What a policy says of one server: whether it is ``allowed``, by which ``rule``, and why.

    ``rule`` is None where no rule decided: nothing forbids it, or nothing allows it.
    """

    allowed: bool
    rule: Rule | None
    reason: str


class Policy:
    """Which servers may be used.

    ``deny``: what a rule matches here is refused, whatever ``allow`` says. ``allow``: None allows
    everything else; a list allows only what it matches, so that an empty one allows nothing. Where
    ``allow`` has rules about commands, a command must match one of them, and a URL likewise where
    it has rules about URLs: a name is only what the author of the file calls the server.

    A rule is a `NameRule`, a `CommandRule`, a `UrlRule`, a text such as ``"name:github"``,
    ``"command:npx -y @corp/*"`` or ``"url:https://*.corp.com/*"``, or a mapping as the settings of
    Claude Code have it. Raises `UsageError` for anything else.
    """

    def __init__(
        self,
        allow: Sequence[Rule | str | Mapping[str, Any]] | None = None,
        deny: Sequence[Rule | str | Mapping[str, Any]] = (),
    ) -> None:
        self.allow: tuple[Rule, ...] | None = None if allow is None else _rules(allow, "allow")
        self.deny: tuple[Rule, ...] = _rules(deny, "deny")

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Policy:
        """Read ``allowedMcpServers`` and ``deniedMcpServers`` of settings as Claude Code has them.

        Raises `UsageError` for a list or a rule that cannot be read.
        """
        allow, deny = settings.get("allowedMcpServers"), settings.get("deniedMcpServers")
        for value in (allow, deny):
            if value is not None and not isinstance(value, (list, tuple)):
                raise UsageError("allowedMcpServers and deniedMcpServers are lists of rules")
        return cls(allow, deny or ())

    def __repr__(self) -> str:
        allow = None if self.allow is None else [str(rule) for rule in self.allow]
        return f"Policy(allow={allow}, deny={[str(rule) for rule in self.deny]})"

    def judge(self, server: ServerConfig) -> Verdict:
        """Return whether ``server`` may be used.

        It is denied when a rule of ``deny`` matches it as written, or with the values of its
        variables. It is allowed as what is connected to: with the values of its variables.
        """
        try:
            connected = _judged(server.target)
        except UsageError as error:
            return Verdict(False, None, f"it cannot be judged: {error}")
        denial = self.denial(server)
        if denial is not None:
            return denial
        if self.allow is None:
            return Verdict(True, None, "nothing denies it")
        if not self.allow:
            return Verdict(False, None, "the allow list is empty")
        return self._allowed(server, connected)

    def denial(self, server: ServerConfig) -> Verdict | None:
        """Return why a server is denied, as written or with its values; None when it is not."""
        links = _links(server)
        targets = [_judged(server.target, lenient=True)]
        if server.written is not None:
            targets.insert(0, _judged(server.written, lenient=True))
        for rule in self.deny:
            if any(_denies(rule, server.name, target, links) for target in targets):
                return Verdict(False, rule, f"denied by the rule {rule}")
        return None

    def _allowed(self, server: ServerConfig, target: _Judged) -> Verdict:
        links = _links(server)
        kind = UrlRule if isinstance(target, CanonicalUrl) else CommandRule
        assert self.allow is not None
        decisive = [rule for rule in self.allow if target is not None and isinstance(rule, kind)]
        steering = next(_steering_variables(server), None) if kind is CommandRule else None
        if decisive and steering is not None:
            return Verdict(
                False, None, f"its env sets {steering}, which changes what its command runs"
            )
        for rule in decisive or self.allow:
            if isinstance(rule, NameRule):
                matches = rule.matches(server.name, generous=False)
            elif isinstance(rule, UrlRule):
                matches = isinstance(target, CanonicalUrl) and rule.matches(target, generous=False)
            else:
                matches = isinstance(target, tuple) and rule.allows(target, links)
            if matches:
                return Verdict(True, rule, f"allowed by the rule {rule}")
        what = "server"
        if decisive:
            what = "URL" if kind is UrlRule else "command"
        return Verdict(False, None, f"no rule of the allow list is about this {what}")


def _rules(rules: Sequence[Rule | str | Mapping[str, Any]], name: str) -> tuple[Rule, ...]:
    if isinstance(rules, (str, Mapping)) or not isinstance(rules, Sequence):
        raise UsageError(f"{name} is a list of rules, not {type(rules).__name__}")
    return tuple(map(read_rule, rules))


def _denies(rule: Rule, name: str, target: _Judged, links: Callable[[str], Sequence[str]]) -> bool:
    if isinstance(rule, NameRule):
        return rule.matches(name, generous=True)
    if isinstance(rule, UrlRule):
        return isinstance(target, CanonicalUrl) and rule.matches(target, generous=True)
    return isinstance(target, tuple) and rule.denies(target, links)


def _judged(target: Target, *, lenient: bool = False) -> _Judged:
    """Return what rules look at; a ``lenient`` look leaves out a URL that variables still spoil."""
    try:
        destination = destination_of(target)
        if isinstance(destination, str):
            return canonical_url(destination)
    except UsageError:
        if lenient:
            return None
        raise
    return None if destination is None else tuple(destination)


def _env_of(server: ServerConfig) -> Mapping[str, str]:
    """Return the variables of the server's process, wherever they are given."""
    given = server.options.get("env")
    if given is None and isinstance(server.target, Mapping):
        entry = entry_of(server.target)
        given = entry.get("env") or entry.get("environment")
    return given if isinstance(given, Mapping) else {}


def _links(server: ServerConfig) -> Callable[[str], Sequence[str]]:
    """Return what says to which files a program leads, where this server looks for it."""
    env = _env_of(server)
    path = next((value for key, value in env.items() if key.upper() == "PATH"), None)
    return lru_cache(maxsize=1000)(lambda program: links_of(program, path))


def _steering_variables(server: ServerConfig) -> Iterator[str]:
    for name in _env_of(server):
        if name.upper() in _STEERING or name.upper().startswith(_STEERING_PREFIXES):
            yield name
