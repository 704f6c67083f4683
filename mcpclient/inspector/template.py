"""The document of the page, without its data.

Its sources are package data in ``page/``. They are read through the loader, as
`importlib.resources` fails in a zip archive with Python 3.9 on Windows.
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

    They share one scope, in which the linter keeps every top-level name unique.
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
