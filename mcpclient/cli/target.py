"""The server that the words of a command line name, and the options for connecting to it."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from ..entries.fields import TRANSPORTS
from ..errors import UsageError
from ..lazy import OnDemand
from ..net.paths import bundle_name, is_bundle
from ..net.process.launch import SCRIPT_ENDINGS
from ..net.recorder import open_trace
from ..recording.redaction import Redactor
from .command import Server, flag, option, pair, repeated
from .render import writing

if TYPE_CHECKING:
    from ..net import chained_log
else:
    chained_log = OnDemand("..net.chained_log", __name__)

URL_SCHEMES = ("http://", "https://", "ws://", "wss://", "tcp://", "unix://")
_STARTERS = {"npx", "uvx", "uv", "node", "bunx", "deno", "python", "python3", "docker", "podman"}
_WHICH = (
    "which server? Give the name of a configured one, a URL or a script first, or the command "
    "that starts it at the end, after --"
)


def split_at_command(words: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """Return the words before the first ``--``, and the server's command line after it."""
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


def find_server(options: argparse.Namespace, *, needed: bool = True) -> Server:
    """Return the server that ``options`` name by words or a command, and leave the words after it.

    A word that is neither a URL nor a script is the name of a configured server; so is one that
    looks like a path, if there is a server of this name and no such file. ``server.tool`` and
    ``server__tool`` name a server, and its tool as the first of the words after it. On a terminal
    the user is asked to agree to a server of a project's file. Raises `UsageError` when there is no
    server; if it is not ``needed``, its target is empty then, and no configuration is read.
    """
    words: list[str] = list(options.words)
    options.named = words[:1] if options.server_command is None else ["--", *options.server_command]
    if options.server_command is not None:
        return Server(options.server_command)
    first, options.words = words[0] if words else "", words[1:]
    if first.startswith("@"):
        joined: Server = import_module(".sessions", __package__).joined(first[1:], options)
        return joined
    in_bundle = is_bundle(first)  # whose command the user has not seen yet, and so not agreed to
    if not in_bundle and _names_itself(first) and not _is_name(first, options.config):
        return Server(first)
    if not needed and not in_bundle:
        options.named, options.words = [], words
        return Server("")
    if not words:
        raise UsageError(_WHICH)
    if "://" in first:
        schemes = ", ".join(URL_SCHEMES)
        error = UsageError(f"which server? {first!r} is not a URL that a server may have")
        raise error.advise(f"Give a URL that begins with {schemes}")
    # Files are read, and the user is asked, only to look up a name.
    configured = import_module(".configured", __package__).configured
    line = shlex.join(["mcpclient", options.command, "--", *words]) if is_program(first) else ""
    server: Server
    name, path = (bundle_name(first), first) if in_bundle else (first, options.config)
    server, tool = configured(name, path, line, unseen=in_bundle)
    if tool:
        options.named = [server.options["name"]]
        options.words.insert(0, tool)
    return server


def command_line(options: argparse.Namespace, command: str, *words: str) -> str:
    """Return the line of another command for the server that was named, to be copied and run.

    A server whose words may hold a secret is not named in it.
    """
    named = options.named
    if not named or Redactor().text(shlex.join(named)) != shlex.join(named):
        named = ["SERVER"]
    server, program = ([], named) if named[0] == "--" else (named, [])
    config = ["--config", options.config] if options.config else []
    return shlex.join(["mcpclient", command, *config, *server, *words, *program])


_LINE = re.compile(r"mcpclient (?:(auth login) URL|([a-z]+) SERVER((?: \S+)*))")


def name_server(hint: str, options: argparse.Namespace, server: Server | None) -> str:
    """Return a hint with the named server filled in, so that its lines can be run."""
    target = server.target if server is not None else None

    def line(found: re.Match[str]) -> str:
        if found[1]:
            is_url = isinstance(target, str) and "://" in target
            return f"mcpclient auth login {shlex.quote(str(target))}" if is_url else found[0]
        if not options.named:
            return found[0]
        tool = "".join(options.words[:1])
        words = (tool if word == "TOOL" else word for word in shlex.split(found[3]))
        return command_line(options, found[2], *words)

    return _LINE.sub(line, hint)


def is_program(word: str) -> bool:
    """Whether a word is a program that starts servers, or that is found in PATH."""
    return word in _STARTERS or (word[:1].isalpha() and shutil.which(word) is not None)


def is_named(options: argparse.Namespace) -> bool:
    """Whether the words or a command name a server."""
    return bool(options.words) or options.server_command is not None


def only_server(options: argparse.Namespace) -> Server:
    """Return the server that the words name. Raises `UsageError` for other words."""
    server = find_server(options)
    if options.words:
        raise UsageError(f"one server is expected, and no other words: {options.words[0]!r}")
    return server


def _names_itself(word: str) -> bool:
    if "://" in word:
        return word.lower().startswith(URL_SCHEMES)
    is_path = word.lower().endswith(SCRIPT_ENDINGS) or os.path.dirname(word) != ""
    return is_path and "=" not in word and not word.startswith(("{", "@"))


def _is_name(word: str, config: str | None) -> bool:
    """Whether a word that looks like a path is the name of a server, such as ``maker/server``."""
    if "://" in word or (config is None and os.path.exists(word)):
        return False
    is_configured: bool = import_module(".configured", __package__).is_configured(word, config)
    return is_configured


HEADER = repeated(
    "--header", "'NAME: VALUE'", "header of every HTTP request", type=pair(":", "--header")
)
ENV = repeated(
    "--env", "NAME=VALUE", "environment variable of the server process", type=pair("=", "--env")
)
TRACE = option("--trace", "FILE", "append a transcript of the session; secrets are replaced")
AUDIT = option("--audit", "FILE", "append a line for each start and each call to a log")
QUIET = flag("--quiet", "do not show what the server process writes to stderr")

CONNECTING = (
    option("--timeout", "SECONDS", "longest silence of the server (30); 0: no limit", type=float),
    option(
        "--max-timeout", "SECONDS", "longest time for a whole call (600); 0: no limit", type=float
    ),
    option("--config", "FILE", "look up the server in this file only"),
    HEADER,
    option("--bearer", "TOKEN", "bearer token for the Authorization header"),
    flag("--negotiate", "log in as the user of this system (Kerberos, NTLM)"),
    option("--account", "NAME", "name of one of several logins at one URL"),
    option("--ca-file", "FILE", "PEM file of the certificate authorities to trust"),
    flag("--insecure", "accept any TLS certificate"),
    option("--proxy", "URL", "HTTP or SOCKS proxy for all connections"),
    flag("--proxy-negotiate", "log in at the proxy as the user of this system"),
    ENV,
    option("--cwd", "FOLDER", "working directory of the server process"),
    flag("--sandbox", "run the server process in a sandbox, with these rights only"),
    repeated("--allow-read", "PATH", "with --sandbox: path that it may read"),
    repeated("--allow-write", "PATH", "with --sandbox: path that it may read and change"),
    flag("--allow-network", "with --sandbox: it may use the network"),
    option("--protocol-version", "REVISION", "default: the newest that both sides support"),
    option("--transport", None, "default: detected", choices=TRANSPORTS),
    option(
        "--elicit",
        None,
        "answer to the server's questions: ask (the default), accept their defaults, or decline",
        choices=("ask", "accept", "decline"),
        default="ask",
    ),
    option(
        "--model", "COMMAND", "program that prints the answers of a language model to the server"
    ),
)
"""The options for connecting."""

STARTED_HERE, _WEB = "a server that is started here", "an HTTP or WebSocket URL"
NEEDED = {
    **dict.fromkeys(("env", "cwd", "sandbox"), STARTED_HERE),
    **dict.fromkeys(
        ("header", "bearer", "negotiate", "proxy", "proxy_negotiate", "ca_file", "insecure"), _WEB
    ),
    "account": "a server with a login",
}
"""The options of a new connection, each with the kind of server that it needs."""


def spelled(name: str) -> str:
    """Return an option as it is typed."""
    return f"--{name.replace('_', '-')}"


def check_audit(path: str | None) -> None:
    """Raise `UsageError` for an audit log that cannot be written."""
    if path is not None:
        with writing(path, "the audit log"):
            os.close(chained_log.open_log(path))


def check_trace(path: str | None) -> None:
    """Raise `UsageError` for a trace that cannot be written."""
    if path is not None:
        with writing(path, "the trace"):
            open_trace(path).close()
