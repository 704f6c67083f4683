"""The surroundings of an allowed command: the variables and the folder that may come with it.

A command is judged word by word, but hundreds of variables decide what the same words run: loaders,
interpreters, package managers, shells, TLS and proxies all read some, and so does a home folder. So
the list below is of the variables that may be set, and any other needs a rule of its own.
"""

from __future__ import annotations

import os
import re

from ...entries.applications import kind_of, project_of
from ..server import ServerConfig

# Names as patterns, each with the reason for which a file may set it beside an allowed command.
_VARIABLES = {
    "TZ|LANG|LANGUAGE|LC_[A-Z]+": "how times and texts are written; their values are names",
    "NO_COLOR|FORCE_COLOR|COLUMNS|LINES": "how output looks",
    "LOG_LEVEL|DEBUG_LEVEL|[A-Z0-9_]+_LOG_LEVEL": "how much is logged",
    "(?:[A-Z0-9_]+_)?(?:API_KEY|ACCESS_KEY|ACCESS_KEY_ID|TOKEN|SECRET|PASSWORD|PAT)": (
        "credentials, which the server hands to the service it is for"
    ),
    "[A-Z0-9_]+_(?:USER|USERNAME|EMAIL|REGION)|[A-Z0-9_]+_ID": "the account at that service",
}
_PLAIN = re.compile("|".join(_VARIABLES))
# Whose variables never count as data, whatever they end with: those of programs between the
# command and the server.
_TOOLS = re.compile(
    r"_|(?:BASH|BUN|BUNDLE|COMPLUS|CONDA|COREPACK|CORECLR|COR|DENO|DOCKER|DOTNET|DYLD|GCONV|GIT"
    r"|GLIBC|GO|GEM|JAVA|JDK|LD|LUA|MALLOC|NODE|NPM|NPX|NVM|OPENSSL|PERL|PHP|PIP|PIPX|PNPM|PODMAN"
    r"|POETRY|RUSTUP|CARGO|SHELL|SSH|SSL|UV|XDG|YARN|ZSH)_|PYTHON|PERL|RUBY"
)
_NAMED = re.compile(r"[A-Za-z0-9+@<-][A-Za-z0-9_+@.,:/<>-]*")


def is_plain_variable(name: str, value: str) -> bool:
    """Whether a variable is of a kind that does not change what a command runs."""
    name = name.upper()  # as on Windows
    if _PLAIN.fullmatch(name) is None or _TOOLS.match(name) is not None:
        return False
    if re.fullmatch("TZ|LANG|LANGUAGE|LC_.*", name) is None:
        return True
    # Libraries read files whose paths are made of these.
    return not value or (_NAMED.fullmatch(value) is not None and ".." not in value)


def folder_of(server: ServerConfig) -> str | None:
    """Return the folder in which an entry asks to start; None where it is the usual one.

    Usual is the folder of this program, and for a project's server the project.
    """
    given = server.options.get("cwd")
    if not isinstance(given, (str, os.PathLike)):
        return None
    folder = os.path.realpath(given)
    usual = {os.path.realpath(os.curdir)}
    if server.scope in ("project", "file"):
        usual.add(project_of(server.source, kind_of(server.source)))
    return None if folder in usual else folder
