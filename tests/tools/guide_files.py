"""The files of the guide that are made: the chapter on options, and the table of contents.

``python -m tests.tools.guide_files`` writes them; a test says when they are out of date.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mcpclient.cli.help import CHAPTERS
from mcpclient.client.connection import client_options
from tests.support.subprocesses import TOP

FOLDER = TOP / "mcpclient" / "cli" / "guide"


def made() -> dict[Path, str]:
    """Return the files with their content."""
    return {
        FOLDER / "options.md": "\n".join([*_options(), ""]),
        FOLDER / "README.md": "\n".join([*_contents(), ""]),
    }


def _options() -> Iterator[str]:
    yield "# Options of connect\n"
    yield "Keyword arguments of `connect`, `Client`, `call`, `list_tools` and `connect_all`, which"
    yield "has more: [many servers](servers.md). `help(mcpclient.connect)` lists the same."
    section = ""
    for option in client_options.described_options():
        if option.section != section:
            section = option.section
            yield f"\n## {section}\n\n| option | type | meaning |\n|---|---|---|"
        kind = option.type.replace("|", "\\|")
        yield f"| `{option.name}` | `{kind}` | {option.meaning} |"


def _contents() -> Iterator[str]:
    yield "# The guide\n"
    yield "`mcpclient help` lists these chapters, and `mcpclient help CHAPTER` shows one.\n"
    yield "| chapter | about |\n|---|---|"
    for name, about in CHAPTERS.items():
        yield f"| [{name}]({name}.md) | {about} |"


if __name__ == "__main__":
    for path, text in made().items():
        path.write_text(text)
