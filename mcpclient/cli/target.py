"""The server that the words of a command line name, and the options for connecting to it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ..client.client import Client
from ..client.link.options import Authentication
from ..client.link.targets import Target
from ..errors import UsageError
from ..net.process.server_process import StderrTarget
from ..net.recorder import open_trace

__all__ = [
    "add_options",
    "add_trace_option",
    "check_trace",
    "client_for",
    "split_after_file",
    "split_at_command",
    "take_url",
]

_WITH_HEADERS = ("http://", "https://", "ws://", "wss://")
_URL_SCHEMES = (*_WITH_HEADERS, "tcp://", "unix://")


def split_at_command(words: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """Return what stands before the first ``--``, and the server's command line after it."""
    words = list(words)
    if "--" not in words:
        return words, None
    index = words.index("--")
    return words[:index], words[index + 1 :]


def split_after_file(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words up to a file and its options, and the command after them or their ``--``."""
    words = list(words)
    files = [index for index, word in enumerate(words) if not word.startswith("-")]
    end = files[0] + 1 if files else len(words)
    while end < len(words) and words[end].startswith("-") and words[end] != "--":
        end += 1
    return words[:end], words[end + 1 :] if words[end : end + 1] == ["--"] else words[end:]


def take_url(words: Sequence[str], *, needed: bool = True) -> tuple[str, list[str]]:
    """Return the URL that has to come first, and the words after it.

    Raises `UsageError` when there is none, unless it is not ``needed``: then it is returned empty.
    """
    if words and words[0].lower().startswith(_URL_SCHEMES):
        return words[0], list(words[1:])
    if not needed:
        return "", list(words)
    raise UsageError("which server? Give a URL first, or its command at the end, after --")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how to connect."""
    for name, meaning in (
        ("--timeout", "how long the server may be silent (30)"),
        ("--max-timeout", "how long a call may take in all (600)"),
    ):
        parser.add_argument(name, type=float, metavar="SECONDS", help=f"{meaning}; 0: no limit")
    parser.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="sent with every HTTP request (repeatable)",
    )
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a variable for the server process (repeatable)",
    )
    parser.add_argument("--cwd", metavar="FOLDER", help="where the server process starts")
    parser.add_argument(
        "--protocol-version", metavar="REVISION", help="default: the newest that both sides speak"
    )
    parser.add_argument(
        "--transport", metavar="NAME", help="http or sse; default: whichever the server speaks"
    )
    add_trace_option(parser)
    parser.add_argument(
        "--quiet", action="store_true", help="do not show what the server process writes to stderr"
    )


def add_trace_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--trace``."""
    parser.add_argument(
        "--trace", metavar="FILE", help="append a transcript of the session; secrets are replaced"
    )


def client_for(
    target: Target,
    options: argparse.Namespace,
    stderr: StderrTarget,
    auth: Authentication | None = None,
    **answers: Any,
) -> Client:
    """Return a client, not yet connected. Raises `UsageError` where options make no sense.

    ``answers``: who answers what the server asks, as options of the client.
    """
    _check(target, options)
    limits = {
        name: value
        for name, value in (("timeout", options.timeout), ("max_timeout", options.max_timeout))
        if value is not None
    }
    return Client(
        target,
        **limits,
        headers=_pairs(options.header or (), ":", "--header") or None,
        auth=auth,
        env=_pairs(options.env or (), "=", "--env") or None,
        cwd=options.cwd,
        protocol_version=options.protocol_version,
        transport=options.transport,
        stderr="discard" if options.quiet else stderr,
        trace=options.trace,
        **answers,
    )


def check_trace(path: str | None) -> None:
    """Raise `UsageError` for a trace that cannot be written."""
    if path is not None:
        try:
            open_trace(path).close()
        except OSError as error:
            raise UsageError(f"cannot write the trace {path!r}: {error}") from None


def _check(target: Target, options: argparse.Namespace) -> None:
    """Refuse an option that could only be ignored, and a trace that cannot be written."""
    check_trace(options.trace)
    given: dict[str, Any] = vars(options)
    is_url = isinstance(target, str)
    takes_headers = isinstance(target, str) and target.lower().startswith(_WITH_HEADERS)
    for name, is_of_use, needed in (
        ("env", not is_url, "a command after --"),
        ("cwd", not is_url, "a command after --"),
        ("header", takes_headers, "an HTTP or WebSocket URL"),
    ):
        if given[name] and not is_of_use:
            raise UsageError(f"--{name} needs {needed}")


def _pairs(texts: Sequence[str], separator: str, option: str) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, found, value = text.partition(separator)
        if not found or not name.strip():
            raise UsageError(f"{option} takes NAME{separator}VALUE")
        pairs[name.strip()] = value.strip() if separator == ":" else value
    return pairs
