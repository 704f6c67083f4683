"""A loaded configuration: the servers, their problems and their sources."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Callable, Literal

from ..client.connection.targets import Target, mapping_of
from ..errors import UsageError
from ..framing.escaping import escape_line
from ..suggestions import there_is_no

if TYPE_CHECKING:
    from ..entries.bundles.archive import Bundle
    from ..entries.fields import Naming
    from .sheet import Sheet

Severity = Literal["error", "warning"]

State = Literal["ready", "disabled", "needs_approval", "denied"]
"""Whether a server may be connected, and if not, why not."""


SETTINGS = ("include", "exclude", "trusted", "lazy", "naming")
"""The fields of a server that its entry has, too, and that a program may change."""


@dataclass(frozen=True)
class Problem:
    """A mistake in a configuration, or a warning about it.

    ``severity``: with an ``"error"`` the server (or the file) is left out; with a ``"warning"`` it
    is still used. ``file`` is the path as it was found; ``line`` counts from 1. ``server`` and
    ``field`` are None for a problem of the whole file. ``hint`` is the next step, or empty. No
    string contains the value of a variable or header. ``str()`` is one line, without control
    characters.
    """

    severity: Severity
    message: str
    file: str
    line: int | None = None
    server: str | None = None
    field: str | None = None
    hint: str = ""

    @property
    def is_error(self) -> bool:
        """Whether the server, or the file, is left out."""
        return self.severity == "error"

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        named = ".".join(part for part in (self.server, self.field) if part)
        text = f"{place}: {self.severity}: {named + ': ' if named else ''}{self.message}"
        return escape_line(f"{text} ({self.hint})" if self.hint else text)


@dataclass(frozen=True)
class ServerConfig:
    """One server, ready for ``mcpclient.connect(server.target, **server.options)``.

    - ``name``: the name it is configured under. ``scope``: ``"plugin"``, ``"user"``, ``"project"``,
      ``"local"``, ``"enterprise"``, ``"file"`` for a file that the caller named, or ``"program"``
      for a server that was made in code. ``source``: the path of its file, or "".
    - ``target``: a URL, or a command as a list. ``options``: keyword arguments of `connect`. While
      ``state`` is not ``"ready"``, both are as written in the file, without the values of
      variables, so that only allowed servers learn secrets.
    - ``state``: ``"ready"``, ``"disabled"``, ``"needs_approval"`` or ``"denied"``; ``reason`` says
      why in words. Only a ready server may be connected; ``decision`` says why it may.
    - ``enabled``: the file's setting, also where the server is ready because it was asked for by
      name. ``include``, ``exclude``: patterns of tool names; without ``include`` every tool is in,
      and excluded ones are out. ``trusted``: the server's annotations may be believed. ``lazy``:
      connect at the first call only. ``naming``: how its tools are named, where that differs from
      other servers' (see `Manager`).
    - ``raw``: the entry as the file has it. ``written``: the target before variables were put in.
      ``sheet``: everything that decides what runs and which data it gets, for the user's approval;
      None for a server that was made in code.
    - ``bundle``: the file that its command is from, which is unpacked when the server is ready.
    - ``judge_again``: reads the entry again and returns the server as it is allowed now, with the
      program's changes, as ``judge_again(server, switched_on)``; with True a disabled entry counts
      as enabled. With ``as_it_is=True`` the caller vouches for a named file that has changed. None
      for a server that was made in code. It blocks.

    Neither `repr` nor comparison of the fields that may hold secrets shows them.
    """

    name: str
    scope: str = "program"
    source: str = ""
    target: Target = field(default="", repr=False, hash=False)
    options: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)
    enabled: bool = True
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    trusted: bool = False
    lazy: bool = False
    naming: Naming | None = field(default=None, hash=False)
    state: State = "ready"
    reason: str = ""
    decision: str = field(default="", compare=False)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)
    written: Target | None = field(default=None, repr=False, hash=False)
    sheet: Sheet | None = field(default=None, repr=False, hash=False)
    bundle: Bundle | None = field(default=None, repr=False, hash=False)
    judge_again: Callable[..., ServerConfig] | None = field(
        default=None, repr=False, hash=False, compare=False
    )

    def __post_init__(self) -> None:
        for name in ("include", "exclude"):
            if isinstance(getattr(self, name), str):  # whose letters would be patterns
                raise UsageError(f"{name} must be a list of patterns, not a string")

    def with_mapping_read(self) -> ServerConfig:
        """Return the server, with a target that is a mapping parsed as on connecting.

        Raises `UsageError` for a mapping that is not an entry.
        """
        given = mapping_of(self.target)
        if given is None:
            return self
        from ..client.configured import entry_of, read_mapping, with_given

        read = read_mapping(given, self.name, is_judged=True)
        entry, target, options, bundle = read
        written = entry_of(given)
        return replace(
            self,
            target=target,
            bundle=bundle,
            options=with_given(options, self.options, is_bundle=bundle is not None),
            enabled=self.enabled and entry.enabled,
            **{name: getattr(self, name) or getattr(entry, name) for name in SETTINGS},
            raw={**written, "sha256": entry.sha256} if entry.sha256 else written,
        )

    def fingerprint(self) -> str:
        """Return a digest of the entry as written, 64 hexadecimal digits.

        Neither white space nor the order of keys matters; everything else does. A server made in
        code is known by its target and its options.
        """
        content: object = self.raw or [self.target, self.options]
        if self.raw and self.scope == "program":
            content = [self.raw, {}]  # as before the mapping was read

        def plain(value: object) -> object:
            return dict(value) if isinstance(value, Mapping) else repr(value)

        text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=plain)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Source:
    """A file that was looked at.

    ``path``: as it was found. ``scope``: see `ServerConfig`. ``application``: whose file it is,
    such as ``"claude-code"`` or ``"vscode"``. ``servers``: the names it configures, in its order,
    those that another file overrides included.
    """

    path: str
    scope: str
    application: str
    servers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Config:
    """The servers of one or several files.

    ``servers``: by name, in the order of their files, those that are disabled, denied or not yet
    approved included (see `ServerConfig.state`); an entry with an error is not among them.
    ``inputs``: by the names of servers, the inputs that each of them refers to.
    ``problems``: everything that is wrong. ``sources``: every file that was read. ``load_again``:
    loads the same files in the same way, as they are now; None for one that was made in code.
    """

    servers: dict[str, ServerConfig] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    explanations: Mapping[str, str] = field(default_factory=dict, repr=False)
    inputs: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    load_again: Callable[[], Config] | None = field(default=None, repr=False, compare=False)

    def explain(self, name: str) -> str:
        """Return the places of a server's entries in files, and the decision on it, as text.

        Raises `UsageError` for a name that no file has.
        """
        if name not in self.explanations:
            raise UsageError(there_is_no("server", name, self.explanations, "in the configuration"))
        return self.explanations[name]
