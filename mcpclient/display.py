"""Commands and URLs as messages show them: without words that may be secret.

Arguments, headers and URLs may contain keys. Since any word may be one, only words known to be
harmless are shown: the program, and the name of the server it runs, such as the package for
``npx``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

HIDDEN = "…"
"""The mark in place of a hidden word."""

# Compiled on first use: every client imports this module, and most show no command.
_PACKAGE = r"(?:@[A-Za-z0-9][\w.-]*/)?[A-Za-z][\w.-]*(?:@[\w.^~-]+)?"
_MODULE = r"[A-Za-z_][\w.]*"
_SCRIPT = r".+\.(?:py|js|mjs|cjs|ts|mts|jar)"

# Programs that run another one, their options without a value, and the form of its name.
_RUNNERS = {
    **dict.fromkeys(
        ("npx", "bunx", "pnpx", "uvx"), (("-y", "--yes", "-q", "--quiet", "--offline"), _PACKAGE)
    ),
    **dict.fromkeys(("node", "deno", "bun", "tsx"), (("run", "-A", "--allow-all"), _SCRIPT)),
    **dict.fromkeys(("python", "py"), (("-u", "-I", "-B", "-s", "-E"), _SCRIPT)),
    "java": (("-jar",), _SCRIPT),
}
_FIRST_WORD = r"(?:\S|(?<=Program) (?=Files)|(?<=Files) (?=\(x86\)))+"
_VERSION = r"(?:[0-9]+(?:\.[0-9]+)*)?(?:\.exe|\.cmd)?$"

# A key: letters and digits mixed, or more letters than words have, and nothing between them.
_KEY = r"(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9~%=+]{16,}|[A-Za-z0-9~%=+]{24,}"
_UUID = r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def shown_command(command: Sequence[str]) -> str:
    """Return a command in one line: the program, the server it runs, and the number of other
    arguments."""
    words = shown_words(command)
    hidden = words.count(HIDDEN)
    text = " ".join(word for word in words if word != HIDDEN)
    if not hidden:
        return text
    more = "more " if len(words) - hidden > 1 else ""
    return f"{text} ({hidden} {more}argument{'s' if hidden > 1 else ''})"


def shown_words(command: Sequence[str]) -> list[str]:
    """Return the words of a command; each that may be secret is `HIDDEN`."""
    if not command:
        return []
    program = _program(command[0])
    words = [program, *[HIDDEN] * (len(command) - 1)]
    name = re.sub(_VERSION, "", re.split(r"[/\\]", program)[-1].lower(), count=1)
    options, kind = _RUNNERS.get(name, ((), None))
    for index in range(1, len(command)):
        word = command[index]
        if name in ("python", "py") and word == "-m":
            words[index], kind = word, _MODULE
        elif word in options:
            words[index] = word
        else:
            if kind is not None and re.fullmatch(kind, word) and not _looks_like_a_key(word):
                words[index] = word
            break
    return words


def _program(word: str) -> str:
    """Return the name of the program, without the arguments of a command in one word."""
    if "://" in word:
        return shown_url(word.split()[0])
    if re.match(r"\w+=", word):  # a variable, as before a command of a shell
        return word.partition("=")[0] + "=" + HIDDEN
    found = re.match(_FIRST_WORD, word)
    program = found.group() if found is not None else ""
    return program if program == word else f"{program} {HIDDEN}"


def shown_url(url: str) -> str:
    """Return a URL without userinfo, query, fragment and path segments that look like keys."""
    start, _, rest = re.sub("//[^/]*@", "//", re.split("[?#]", url, maxsplit=1)[0]).partition("//")
    host, slash, path = rest.partition("/")
    return f"{start}//{host}{slash}{shown_path(path)}" if rest else start


def shown_path(path: str) -> str:
    """Return the path of a URL; each segment that looks like a key is `HIDDEN`."""
    return "/".join([HIDDEN if _looks_like_a_key(word) else word for word in path.split("/")])


def _looks_like_a_key(word: str) -> bool:
    if re.search(_UUID, word):
        return True
    return any(map(re.compile(_KEY).fullmatch, re.split(r"[-_.:@]", word)))
