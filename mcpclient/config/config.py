"""What was loaded: the servers, the problems, and where they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Callable

from ..errors import UsageError
from ..suggestions import there_is_no
from .problem import Problem
from .server import ServerConfig


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
        """Return where a server comes from, what each file says of it, and what was decided.

        The text holds names of variables and headers, never their values. Raises `UsageError` for
        a name that no file has.
        """
        if name not in self.explanations:
            raise UsageError(there_is_no("server", name, self.explanations, "in the configuration"))
        return self.explanations[name]
