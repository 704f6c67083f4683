"""The decision on a server, by rules on its name, its command and its URL."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from os.path import isabs
from typing import TYPE_CHECKING, Any, Union

from ...client.connection.targets import Target, destination_of
from ...entries.applications import kind_of, project_of
from ...entries.urls import CanonicalUrl, canonical_url
from ...errors import UsageError
from ...net.paths import with_home
from ...net.process.programs import links_of
from ..config import ServerConfig
from .rules import CommandRule, CwdRule, EnvRule, NameRule, Rule, UrlRule, read_rule

if TYPE_CHECKING:
    from ...client.events.audit import AuditLog, AuditOption

# Variables that a file may set beside an allowed command, by what they are.
_PLAIN = re.compile(
    "TZ|LANG|LANGUAGE|LC_[A-Z]+"  # the format of times and messages; their values are names
    "|NO_COLOR|FORCE_COLOR|COLUMNS|LINES"  # the look of output
    "|LOG_LEVEL|DEBUG_LEVEL|[A-Z0-9_]+_LOG_LEVEL"
    # Credentials, which the server hands to the service it is for, and the account at that
    "|(?:[A-Z0-9_]+_)?(?:API_KEY|ACCESS_KEY|ACCESS_KEY_ID|TOKEN|SECRET|PASSWORD|PAT)"
    "|[A-Z0-9_]+_(?:USER|USERNAME|EMAIL|REGION)|[A-Z0-9_]+_ID"
)
# Programs between the command and the server: their variables never count as data.
_TOOLS = re.compile(
    r"_|(?:BASH|BUN|BUNDLE|COMPLUS|CONDA|COREPACK|CORECLR|COR|DENO|DOCKER|DOTNET|DYLD|GCONV|GIT"
    r"|GLIBC|GO|GEM|JAVA|JDK|LD|LUA|MALLOC|NODE|NPM|NPX|NVM|OPENSSL|PERL|PHP|PIP|PIPX|PNPM|PODMAN"
    r"|POETRY|RUSTUP|CARGO|SHELL|SSH|SSL|UV|XDG|YARN|ZSH)_|PYTHON|PERL|RUBY"
)
_NAMED = re.compile(r"[A-Za-z0-9+@<-][A-Za-z0-9_+@.,:/<>-]*")


def is_plain_variable(name: str, value: str) -> bool:
    """Return whether a variable only carries data, and does not change the code that runs."""
    name = name.upper()  # as on Windows
    if _PLAIN.fullmatch(name) is None or _TOOLS.match(name) is not None:
        return False
    if re.fullmatch("TZ|LANG|LANGUAGE|LC_.*", name) is None:
        return True
    # Libraries read files whose paths contain these values.
    return not value or (_NAMED.fullmatch(value) is not None and ".." not in value)


def folder_of(server: ServerConfig) -> str | None:
    """Return the working directory that an entry asks for; None for the default.

    The default is this program's own, and for a project's server the project's folder.
    """
    given = server.options.get("cwd")
    if not isinstance(given, (str, os.PathLike)):
        return None
    folder = os.path.realpath(given)
    usual = {os.path.realpath(os.curdir)}
    if server.scope in ("project", "file"):
        usual.add(project_of(server.source, kind_of(server.source)))
    return None if folder in usual else folder


# Wherever it stands in an argument, as in git+https://… and --url=https://…
_URL = re.compile(r"(?:https?|wss?)://[^\s\"'<>`]+", re.IGNORECASE)

# What can be judged of a target: a command, a URL, or neither (a transport made in code).
_Judged = Union[tuple[str, ...], CanonicalUrl, None]


@dataclass(frozen=True)
class Verdict:
    """A policy's decision on a server: ``allowed``, the ``rule`` that decided, the ``reason``.

    ``rule`` is None where no rule decided: nothing forbids it, or nothing allows it.
    """

    allowed: bool
    rule: Rule | None
    reason: str


class Policy:
    """Rules on the servers that may be used.

    ``deny``: servers that match a rule here are refused, whatever ``allow`` says. ``allow``: None
    allows everything else; a list allows only its matches, so that an empty one allows nothing.
    Where ``allow`` has rules about commands, a command must match one of them, and a URL likewise
    where it has rules about URLs: a name proves nothing, since the author of the file chooses it.
    Login URLs in the entry are judged like the server's own. A command that has to match a rule may
    come with variables that only carry data, such as ``TZ`` or ``GITHUB_TOKEN``, and starts in the
    usual folder; ``env:`` and ``cwd:`` rules allow more.

    ``require_sandbox``: start servers only in a sandbox: their own, or else `Sandbox()`. Default:
    False. ``audit``: logs of their starts and calls, see `AuditLog`, besides the program's own.

    A rule is a `NameRule`, a `CommandRule`, a `UrlRule`, an `EnvRule`, a `CwdRule`, a string such
    as ``"name:github"``, ``"command:npx -y @corp/*"``, ``"url:https://*.corp.com/*"``,
    ``"env:GRAFANA_*"`` or ``"cwd:/srv/*"``, or a mapping as the settings of Claude Code have it.
    Raises `UsageError` for anything else.
    """

    def __init__(
        self,
        allow: Sequence[Rule | str | Mapping[str, Any]] | None = None,
        deny: Sequence[Rule | str | Mapping[str, Any]] = (),
        *,
        require_sandbox: bool = False,
        audit: AuditOption = None,
    ) -> None:
        if not isinstance(require_sandbox, bool):
            raise UsageError(f"require_sandbox is true or false, not {require_sandbox!r:.100}")
        self.require_sandbox: bool = require_sandbox
        self.audit: tuple[AuditLog, ...] = ()
        if audit is not None:
            from ...client.events.audit import logs_of

            self.audit = logs_of(audit)
        self.allow: tuple[Rule, ...] | None = None if allow is None else _rules(allow, "allow")
        self.deny: tuple[Rule, ...] = _rules(deny, "deny")

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Policy:
        """Read ``allowedMcpServers`` and ``deniedMcpServers`` of settings as Claude Code has them.

        ``requireSandbox``, ``audit`` (the path of a log) and ``auditRequired`` beside them are this
        library's own. Raises `UsageError` for a list, a rule or a path that cannot be read.
        """
        allow, deny = settings.get("allowedMcpServers"), settings.get("deniedMcpServers")
        for value in (allow, deny):
            if value is not None and not isinstance(value, (list, tuple)):
                raise UsageError("allowedMcpServers and deniedMcpServers are lists of rules")
        path = settings.get("audit")
        required = settings.get("auditRequired", settings.get("audit_required", False))
        if path is not None and not (isinstance(path, str) and isabs(with_home(path))):
            raise UsageError("audit is the absolute path of a file, or begins with ~")
        if not isinstance(required, bool) or (required and path is None):
            raise UsageError("auditRequired is true or false, and needs audit")
        audit = None
        if path:
            from ...client.events.audit import AuditLog

            audit = AuditLog(path, required)
        require_sandbox = settings.get("requireSandbox", False)
        return cls(allow, deny or (), require_sandbox=require_sandbox, audit=audit)

    def __repr__(self) -> str:
        allow = None if self.allow is None else [str(rule) for rule in self.allow]
        required = ", require_sandbox=True" if self.require_sandbox else ""
        return f"Policy(allow={allow}, deny={[str(rule) for rule in self.deny]}{required})"

    def judge(self, server: ServerConfig) -> Verdict:
        """Return whether ``server`` may be used.

        It is denied when a rule of ``deny`` matches it as written, or with the values of its
        variables. It is allowed as it is connected to: with the values of its variables.
        """
        try:
            server = server.with_mapping_read()
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
        facts, links = _facts(server), _links(server)
        for rule in self.deny:
            values = next(values for kind, values in facts.items() if isinstance(rule, kind))
            if isinstance(rule, CommandRule):
                matches = any(rule.denies(command, links) for command in values)
            else:
                matches = any(rule.matches(value, generous=True) for value in values)
            if matches:
                return Verdict(False, rule, f"denied by the rule {rule}")
        return None

    def _allowed(self, server: ServerConfig, target: _Judged) -> Verdict:
        links = _links(server)
        kind = UrlRule if isinstance(target, CanonicalUrl) else CommandRule
        assert self.allow is not None
        decisive = [rule for rule in self.allow if target is not None and isinstance(rule, kind)]
        if decisive:
            look = self._unknown_login if kind is UrlRule else self._unknown_around
            unknown = look(server)
            if unknown:
                return Verdict(False, None, unknown)
        for rule in decisive or self.allow:
            if isinstance(rule, UrlRule):
                matches = isinstance(target, CanonicalUrl) and rule.matches(target, generous=False)
            elif isinstance(rule, CommandRule):
                matches = isinstance(target, tuple) and rule.allows(target, links)
            else:  # the others are about what comes with a command
                matches = isinstance(rule, NameRule) and rule.matches(server.name, generous=False)
            if matches:
                return Verdict(True, rule, f"allowed by the rule {rule}")
        about = "URL" if kind is UrlRule else "command"
        what = about if decisive else "server"
        return Verdict(False, None, f"no rule of the allow list is about this {what}")

    def _unknown_around(self, server: ServerConfig) -> str:
        """Return a description of the variables or folder that no rule allows, or ""."""
        variables = [
            name
            for name, value in _env_of(server).items()
            if not is_plain_variable(name, str(value)) and not self._allows(EnvRule, name)
        ]
        if variables:
            hint = f"a rule env:{variables[0]} would allow it"
            return f"its env sets {', '.join(variables)}, which may change what runs; {hint}"
        folder = folder_of(server)
        if folder is not None and not self._allows(CwdRule, folder):
            return f"it starts in {folder}, which may change what runs; a cwd: rule would allow it"
        return ""

    def _unknown_login(self, server: ServerConfig) -> str:
        """Return a description of the login URL that no rule allows, or ""."""
        for url in _urls_in(server.options.get("auth")):
            if not self._allows(UrlRule, url):
                place = f"{url.scheme}://{url.host}"
                return f"no rule of the allow list is about {place}, which its login names"
        return ""

    def _allows(self, kind: type[EnvRule | CwdRule | UrlRule], value: Any) -> bool:
        rules: list[Any] = [rule for rule in self.allow or () if isinstance(rule, kind)]
        return any(rule.matches(value, generous=False) for rule in rules)


def _rules(rules: Sequence[Rule | str | Mapping[str, Any]], name: str) -> tuple[Rule, ...]:
    if isinstance(rules, (str, Mapping)) or not isinstance(rules, Sequence):
        raise UsageError(f"{name} is a list of rules, not {type(rules).__name__}")
    return tuple(map(read_rule, rules))


def _facts(server: ServerConfig) -> dict[type[Rule], list[Any]]:
    """Return what deny rules of each kind are about, as written and with values."""
    targets = [_judged(each, lenient=True) for each in (server.written, server.target) if each]
    # Of its login too, and in its arguments, variables and headers.
    targets += _urls_in([server.target, server.options, server.written])
    folder = folder_of(server)
    return {
        NameRule: [server.name],
        EnvRule: [*_env_of(server)],
        CwdRule: [] if folder is None else [folder],
        UrlRule: [each for each in targets if isinstance(each, CanonicalUrl)],
        CommandRule: [each for each in targets if isinstance(each, tuple)],
    }


def _judged(target: Target, *, lenient: bool = False) -> _Judged:
    """Return the parts that rules apply to; ``lenient`` omits a URL with unresolved variables."""
    try:
        destination = destination_of(target)
        if isinstance(destination, str):
            return canonical_url(destination)
    except UsageError:
        if lenient:
            return None
        raise
    return None if destination is None else tuple(destination)


def _urls_in(value: object) -> Iterator[CanonicalUrl]:
    if isinstance(value, str):
        for found in _URL.findall(value):
            with suppress(UsageError):
                yield canonical_url(found)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _urls_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _urls_in(item)
    elif _is_login(value):
        # A redirect by http comes back to this machine, as `OAuth` sees to.
        redirect = getattr(value, "redirect_uri", None) or ""
        named = {**vars(value), "redirect_uri": "" if redirect.startswith("http:") else redirect}
        yield from _urls_in(named)


def _is_login(value: object) -> bool:
    """Whether a value is one of ``auth=`` that names servers."""
    try:
        from ...auth.options import Endpoints, ServerTrust
    except UsageError:  # a copy without the part has no such values
        return False
    return isinstance(value, (ServerTrust, Endpoints))


def _env_of(server: ServerConfig) -> Mapping[str, str]:
    given = server.options.get("env")
    return given if isinstance(given, Mapping) else {}


def _links(server: ServerConfig) -> Callable[[str], Sequence[str]]:
    env = _env_of(server)
    path = next((value for key, value in env.items() if key.upper() == "PATH"), None)
    return lru_cache(maxsize=1000)(lambda program: links_of(program, path))
