"""``mcpclient record``: run another command, and keep its session in a file."""

from __future__ import annotations

import argparse
import os

from ..errors import UsageError
from ..net.regular_files import open_regular
from .command import LocalRequest, OuterCommand, Request


def _prepare(options: argparse.Namespace, inner: Request | None) -> Request | LocalRequest:
    if inner is None:
        raise UsageError("record needs a command after the file, such as: tools URL")
    if inner.options.trace is not None:
        raise UsageError("record writes the transcript that --trace would write; choose one")
    try:
        flags = os.O_TRUNC if options.force else os.O_EXCL
        os.close(open_regular(options.file, os.O_WRONLY | os.O_CREAT | flags))
    except FileExistsError:
        raise UsageError(
            f"{options.file!r} exists; --force overwrites it, and --trace appends to a file"
        ) from None
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"cannot write {options.file!r}: {reason}") from None
    inner.options.trace = options.file
    return inner


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="overwrite the file if it exists")


COMMAND = OuterCommand(
    "record",
    _prepare,
    usage="[OPTION ...] FILE [--] COMMAND [WORD ...] [URL | -- SERVER-COMMAND ...]",
    add_options=_add_options,
    details=(
        "The file is a transcript: one JSON object per line for everything sent and received, "
        "also while logging in, with secrets replaced. mcpclient replay FILE COMMAND runs the "
        "command again without the server. The output and the exit code are those of COMMAND.\n\n"
        "examples:\n"
        "  mcpclient record s.jsonl call http://localhost:3001/mcp echo message=hi\n"
        "  mcpclient record s.jsonl call echo message=hi -- npx -y my-server"
    ),
)
