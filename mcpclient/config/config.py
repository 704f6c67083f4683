"""A loaded configuration: the servers, what is wrong with them, and where they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Callable, Literal

from ..errors import UsageError
from ..framing.escaping import escape_line
from ..suggestions import there_is_no
from .server import ServerConfig

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Problem:
    """A mistake in a configuration, or a warning about it.

    ``severity``: with an ``"error"`` the server (or the file) is left out; with a ``"warning"`` it
    is used all the same. ``file`` is the path as it was found; ``line`` counts from 1. ``server``
    and ``field`` are None where the problem is the file's. ``hint`` says what to do; it may be
    empty. The texts never hold the value of a variable, nor of a header. ``str()`` is one line,
    without control characters.
    """

    severity: Severity
    message: str
    file: str
    line: int | None = None
    server: str | None = None
    field: str | None = None
    hint: str = ""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        named = ".".join(part for part in (self.server, self.field) if part)
        text = f"{place}: {self.severity}: {named + ': ' if named else ''}{self.message}"
        return escape_line(f"{text} ({self.hint})" if self.hint else text)


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
    ``problems``: everything that is wrong. ``sources``: every file that was read. ``load_again``:
    loads the same files in the same way, as they are now; None for one that was made in code.
    """

    servers: dict[str, ServerConfig] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    explanations: Mapping[str, str] = field(default_factory=dict, repr=False)
    load_again: Callable[[], Config] | None = field(default=None, repr=False, compare=False)

    def explain(self, name: str) -> str:
        """Return the origin of a server, the text of each file about it, and the decision on it.

        The text holds names of variables and headers, never their values. Raises `UsageError` for
        a name that no file has.
        """
        if name not in self.explanations:
            raise UsageError(there_is_no("server", name, self.explanations, "in the configuration"))
        return self.explanations[name]
