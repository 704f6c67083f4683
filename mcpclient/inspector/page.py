"""The page, put together of its source files: markup, style, and scripts in the order they need.

The sources are package data beside this module, read through its loader. So they are files that an
editor understands and a reviewer reads, they travel when the folder is copied, under whatever name,
and they are found in a zip archive as well (through `importlib.resources` they are not by Python
3.9 on Windows, which mixes up its slashes there). As Python strings they would be neither; a build
step would be one more thing to have, and to trust.
"""

from __future__ import annotations

from functools import lru_cache
from pkgutil import get_data

SCRIPTS = (
    "text",
    "server",
    "records",
    "virtual_list",
    "tree",
    "schema_values",
    "schema_form",
    "snippets",
    "results",
    "catalog",
    "subject",
    "questions",
    "wire",
    "compare",
    "overview",
    "main",
)
"""The scripts of the page. They share one scope; each uses what those before it define."""


@lru_cache(maxsize=1)
def _template() -> str:
    def read(name: str) -> str:
        source = get_data(str(__package__), f"page/{name}")
        assert source is not None, "every loader of files and archives has data"
        return source.decode()

    scripts = "\n".join(read(f"{name}.js") for name in SCRIPTS)
    # What is copied as a program has to import the package, so it needs the name that it has here.
    markup = read("page.html").replace("{PACKAGE}", str(__package__).rpartition(".")[0])
    return markup.replace("/*STYLE*/", read("page.css")).replace("/*SCRIPT*/", scripts)


def page(nonce: str) -> bytes:
    """Return the document; only the style and script that carry ``nonce`` will be used by it."""
    return _template().replace("{NONCE}", nonce).encode()


def policy(nonce: str) -> str:
    """Return the Content-Security-Policy to serve it with.

    Nothing is loaded from anywhere but this page and its own server, nothing is framed, and no text
    can become markup or script (trusted types). ``blob:`` is for images and sound that a tool has
    returned, which are in the page already.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'nonce-{nonce}'",
            f"style-src 'nonce-{nonce}'",
            "connect-src 'self'",
            "img-src blob:",
            "media-src blob:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )
