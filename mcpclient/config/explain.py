"""Where a server comes from, in words, without the value of any variable or header."""

from __future__ import annotations

from collections.abc import Sequence

from ..display import shown_command, shown_url
from ..entries.entry import Entry
from .reading import WrittenServer
from .server import ServerConfig


def explanation(
    written: Sequence[WrittenServer],
    entry: Entry | None,
    server: ServerConfig | None,
    decision: str,
) -> str:
    """Return the text for one name. ``written``: its entries, the one that counts last.

    ``entry`` and ``server`` are None where the entry cannot be used; ``decision`` is in words.
    """
    counts = written[-1]
    lines = [counts.name, f"  from: {_place(counts)}"]
    lines += [f"  overrides, as a whole: {_place(other)}" for other in reversed(written[:-1])]
    if entry is not None:
        lines += _values(counts, entry)
    state = server.state if server is not None else "not used"
    lines.append(f"  state: {state}" + (f", {decision}" if decision else ""))
    return "\n".join(lines)


def _place(written: WrittenServer) -> str:
    file = written.file
    line = file.document.line(written.path)
    where = file.path if line is None else f"{file.path}:{line}"
    return f"{where} (scope {file.scope}, read as a file of {file.application.name})"


def _values(written: WrittenServer, entry: Entry) -> list[str]:
    shown = {
        "command": shown_command(entry.command) if entry.command else None,
        "url": None if entry.url is None else shown_url(entry.url),
        "transport": entry.transport,
        "env": ", ".join(entry.env),
        "env_names": ", ".join(entry.env_names),
        "env_file": entry.env_file,
        "cwd": entry.cwd,
        "headers": ", ".join(entry.headers),
        "header_variables": ", ".join(entry.header_variables),
        "bearer_variable": entry.bearer_variable,
        "oauth": None if entry.oauth is None else "given",
        "include": ", ".join(entry.include),
        "exclude": ", ".join(entry.exclude),
        "timeout": None if entry.timeout is None else f"{entry.timeout:g} s",
        "connect_timeout": None
        if entry.connect_timeout is None
        else f"{entry.connect_timeout:g} s",
    }
    lines = []
    for name, text in shown.items():
        if text:
            field = entry.fields.get(name, name)
            line = written.file.document.line((*written.path, field))
            lines.append(f"  {field}: {text}" + ("" if line is None else f" (line {line})"))
    return lines
