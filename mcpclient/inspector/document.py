"""The document of the inspector's page: markup, style and script in one, and its policy.

The sources are package data in ``page/``, read through the loader: files for editors and
reviewers, found under another package name and in a zip archive as well (`importlib.resources`
fails there with Python 3.9 on Windows, which mixes up its slashes).
"""

from __future__ import annotations

import re
from functools import lru_cache
from pkgutil import get_data

_IMPORT = {
    "js": re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.MULTILINE),
    "css": re.compile(r'^@import "\./(\w+)\.css";\n', re.MULTILINE),
}
_COMMENT = re.compile(r"^ *(?://[^\n]*|/\*.*?\*/)\n", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) )", re.MULTILINE)


def _read(name: str) -> str:
    source = get_data(str(__package__), f"page/{name}")
    assert source is not None, "every loader of files and archives has data"
    return source.decode()


def bundle(name: str, kind: str) -> str:
    """Return a module of the page and those that it imports, each after the ones it imports.

    They share one scope, in which every top-level name is unique: a module sees what it imports,
    and the linter reports whatever else it uses. Modules may import each other in a circle.
    Comments stay in the sources.
    """
    bodies: dict[str, str] = {}

    def add(name: str) -> None:
        bodies[name] = ""
        source = _read(f"{name}.{kind}")
        for imported in _IMPORT[kind].findall(source):
            if imported not in bodies:
                add(imported)
        del bodies[name]  # it follows the ones it imports
        code = _COMMENT.sub("", _IMPORT[kind].sub("", source))
        bodies[name] = _EXPORT.sub("", code).strip()

    add(name)
    return "\n".join(bodies.values())


@lru_cache(maxsize=1)
def template() -> str:
    """Return the document without its nonce."""
    # A copied program imports this package, so the page needs its current name.
    markup = _read("page.html").replace("{PACKAGE}", str(__package__).rpartition(".")[0])
    style, script = bundle("page", "css"), bundle("main", "js")
    return markup.replace("/*STYLE*/", style).replace("/*SCRIPT*/", script)


def page(nonce: str) -> bytes:
    """Return the document, which uses only the style and the script that carry ``nonce``."""
    return template().replace("{NONCE}", nonce).encode()


def policy(nonce: str) -> str:
    """Return the Content-Security-Policy to serve it with.

    The page loads nothing from other servers, is not framed, and cannot turn strings into markup or
    script (trusted types). ``blob:`` is for images and sound that a tool has returned, which are in
    the page already.
    """
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
        "connect-src 'self'; img-src blob:; media-src blob:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
