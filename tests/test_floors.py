"""The architecture as a test: which module may import which.

The tables come first; they are the rules. Below them stand the checks, and then snippets of faulty
source, one for each rule, which prove that the checks see what they claim to see.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.tooling.imports import Import, all_imports, read_sources, standard_library

PACKAGE = Path(__file__).parent.parent / "mcpclient"

# A module imports only from lower floors, or from its own folder.
FLOORS = {
    "cures": -1,  # what to do about each kind of error
    "shown": -1,  # what messages show of commands and URLs
    "errors": 0,
    "framing": 1,  # bytes <-> events
    "jsonrpc": 2,  # four message values; ids and waiters
    "formats": 2,  # texts that are not MCP's own
    "protocol": 3,  # what MCP means
    "recording": 4,  # one transcript format for traces, tests and replay
    "auth": 4,  # authorization flows that decide and never act
    "net": 5,  # sockets, processes, the browser, files and the clock
    "transports": 6,  # an Outgoing goes in, messages come out
    "client": 7,  # one server
    "telemetry": 8,  # spans around calls
    "config": 8,  # files into servers
    "manager": 9,  # many servers
    "adapters": 10,  # tool definitions, calls and results for model APIs
    "sync": 11,  # the blocking twin
    "testing": 11,  # cassettes and in-memory servers
    "inspector": 12,  # the page in a browser
    "cli": 13,
    "__main__": 14,  # the door to the cli
    "": 15,  # the lazy root: its names come from every floor
}

# What any floor may take from the root, because the root imports nothing to define it.
ROOT_CONSTANTS = {"__version__"}

# These decide without acting, so that the whole protocol is tested without sockets and sleeps.
PURE = {
    "cures",
    "shown",
    "errors",
    "framing",
    "jsonrpc",
    "formats",
    "protocol",
    "recording",
    "auth",
}
FORBIDDEN_IN_PURE = {
    "asyncio": "waiting belongs to the shell; a generator or a table says what to wait for",
    "concurrent": "pure code has one thread: its caller's",
    "datetime": "reads the wall clock; take the time as a number",
    "multiprocessing": "pure code has one thread: its caller's",
    "os": "reads the environment and files; take what is needed as an argument",
    "pathlib": "touches files; take their content as an argument",
    "shutil": "touches files; take their content as an argument",
    "tempfile": "touches files; take their content as an argument",
    "threading": "pure code has one thread: its caller's",
    "time": "reads the clock; take the time as a number",
    "urllib.request": "opens connections; urllib.parse is the pure part",
}

# `from os import urandom` is randomness without the weight of the secrets module.
ALLOWED_IN_PURE = {"os.urandom"}

# The operating system is met in one place.
ONLY_IN_NET = {
    "http.server": "listening is net/login/loopback.py's",
    "select": "sockets are net's",
    "selectors": "sockets are net's",
    "signal": "processes are net/process's",
    "socket": "sockets are net's",
    "socketserver": "listening is net/login/loopback.py's",
    "ssl": "TLS is set up beside the sockets, in net",
    "subprocess": "processes are net/process's",
    "webbrowser": "the browser is net's",
}

# Elsewhere nothing asks which era it is: it asks the era, see protocol/era.py.
ERAS = ("protocol.era_handshake", "protocol.era_stateless")

# What is imported by name from a higher floor has a type all the same.
TYPES_FROM_ABOVE = {
    ("client.toolboxes", "adapters.toolbox"),
    ("client.toolboxes", "adapters.providers"),
}

# Importing by name would go around every rule of this file, so few may do it.
ONLY_BY_NAME = {"importlib": "only the lazy root imports by name"}
MAY_IMPORT_BY_NAME = {
    "",
    "inspector.page",  # importlib.resources: the sources of the page, also out of a zip archive
    "cli.guide",  # importlib.resources: its chapters, also out of a zip archive
    "cli.main",  # cli.running: --version and --help go without all of the rest
    "cli.commands",  # the one command that is asked for
    "cli.connecting",  # cli.login: for URLs only; cli.asking: when a server asks something
    "cli.target",  # cli.configured: for names of configured servers only
    "client.link.targets",  # client.url_routes: half of the library, for clients of servers afar
    "telemetry",  # OpenTelemetry's API, where it is installed
    "client.tools",  # client.typed_results: for calls that ask for a type
    "client.toolboxes",  # adapters: for those who talk to a model
    "sync",  # its names: a script of one server needs neither the manager nor the adapters
    "sync.client",  # sync.toolbox: for those who talk to a model
    "sync.manager",  # the same
    "client.validation",  # protocol.schema: 25 ms that only those pay who meet an output schema
}


def floor_violations(imports: list[Import]) -> Iterator[str]:
    for found in imports:
        if not found.internal or (found.name in ROOT_CONSTANTS and not found.target):
            continue
        if found.for_types and (found.importer, found.target) in TYPES_FROM_ABOVE:
            continue
        own, other = _folder(found.importer), _folder(found.target)
        for folder in (own, other):
            if folder not in FLOORS:
                yield f"{found}: {folder} has no floor in the table"
                break
        else:
            if own != other and FLOORS[other] >= FLOORS[own]:
                yield f"{found}: floor {FLOORS[other]} is not below floor {FLOORS[own]}"


def third_party_violations(imports: list[Import]) -> Iterator[str]:
    known = standard_library()
    for found in imports:
        if found.for_types and found.target == "typing_extensions":
            continue  # type checkers bring it along; nothing imports it at run time
        if not found.internal and found.target.partition(".")[0] not in known:
            yield f"{found}: neither relative nor the standard library"


def function_level_violations(imports: list[Import]) -> Iterator[str]:
    for found in imports:
        if found.in_function and found.importer:
            yield f"{found}: inside a function; only the lazy root does that"


def library_violations(imports: list[Import]) -> Iterator[str]:
    for found in imports:
        if found.internal or found.for_types:
            continue
        folder = _folder(found.importer)
        rules: dict[str, str] = {}
        if folder in PURE:
            rules.update(FORBIDDEN_IN_PURE)
        if folder != "net":
            rules.update(ONLY_IN_NET)
        if found.importer not in MAY_IMPORT_BY_NAME:
            rules.update(ONLY_BY_NAME)
        # `from urllib import request` names the module in two parts.
        imported = f"{found.target}.{found.name}" if found.name else found.target
        if imported not in ALLOWED_IN_PURE:
            for forbidden, reason in rules.items():
                if f"{imported}.".startswith(f"{forbidden}."):
                    yield f"{found}: {reason}"


def era_violations(imports: list[Import]) -> Iterator[str]:
    for found in imports:
        imported = f"{found.target}.{found.name}" if found.name else found.target
        names_one = any(f"{imported}.".startswith(f"{era}.") for era in ERAS)
        if names_one and _folder(found.importer) != "protocol":
            yield f"{found}: eras are objects; whoever needs an answer asks EraRules"


def cycle_violations(imports: list[Import]) -> Iterator[str]:
    graph: dict[str, set[str]] = {}
    for found in imports:
        if found.internal and found.importer and found.target:
            graph.setdefault(found.importer, set()).add(found.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield "import cycle: " + " <- ".join(error.args[1])


def _folder(module: str) -> str:
    return module.partition(".")[0]


RULES: list[Callable[[list[Import]], Iterator[str]]] = [
    floor_violations,
    third_party_violations,
    function_level_violations,
    library_violations,
    era_violations,
    cycle_violations,
]


@functools.cache  # it takes longer than all rules
def imports_of_the_package() -> list[Import]:
    return all_imports(read_sources(PACKAGE))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rule(rule: Callable[[list[Import]], Iterator[str]]) -> None:
    """F-PACK-1: the standard library only, and every module on its floor."""
    assert not list(rule(imports_of_the_package()))


def violations(sources: Mapping[str, str]) -> list[str]:
    imports = all_imports(sources)
    return [text for rule in RULES for text in rule(imports)]


# Modules that the snippets below may import.
SCENE = {
    "": "",
    "errors": "",
    "framing": "",
    "framing.sse": "",
    "protocol": "",
    "protocol.era_handshake": "",
    "protocol.era_stateless": "",
    "net": "",
    "client.client": "",
}

FAULTY = {
    "a higher floor": ("framing.sse", "from ..client.client import Client", "not below floor 1"),
    "a higher floor by name": ("framing.sse", "from .. import net", "not below floor 1"),
    "the same floor": ("protocol.types", "from ..auth import flow", "not below floor 3"),
    "a higher floor for types": (
        "framing.sse",
        "if TYPE_CHECKING:\n    from ..net import streams",
        "not below floor 1",
    ),
    "the root": ("client.client", "from .. import connect", "floor 15 is not below floor 7"),
    "no floor": ("helpers", "from .errors import McpError", "helpers has no floor"),
    "outside": ("framing.sse", "from ...other import x", "<outside the package> has no floor"),
    "third party": ("net", "import httpx", "nor the standard library"),
    "a newer typing": ("net", "from typing_extensions import Unpack", "nor the standard library"),
    "own absolute name": ("net", "from mcpclient.errors import McpError", "neither relative"),
    "function level": ("net", "def f():\n    import json", "inside a function"),
    "method level": (
        "net.http",
        "class C:\n    async def f(self):\n        if self:\n            from .. import errors",
        "inside a function",
    ),
    "a clock": ("protocol.caching", "import time", "reads the clock"),
    "asyncio part": ("jsonrpc.correlator", "import asyncio.tasks", "belongs to the shell"),
    "environment": ("auth.flow", "from os import environ", "reads the environment"),
    "a connection": ("auth.flow", "from urllib import request", "opens connections"),
    "socket": ("transports.stdio", "import socket", "sockets are net's"),
    "subprocess": (
        "transports.stdio",
        "from subprocess import Popen",
        "net/process's",
    ),
    "an era": (
        "client.client",
        "from ..protocol.era_stateless import StatelessEra",
        "eras are objects",
    ),
    "an era as a module": (
        "client.client",
        "from ..protocol import era_handshake",
        "eras are objects",
    ),
    "by name": ("client.connect", "from importlib import import_module", "only the lazy root"),
}


@pytest.mark.parametrize(("module", "source", "reason"), FAULTY.values(), ids=FAULTY)
def test_a_faulty_import_is_seen(module: str, source: str, reason: str) -> None:
    found = violations({**SCENE, module: source})
    assert len(found) == 1, found
    assert reason in found[0]


def test_a_cycle_is_seen() -> None:
    found = violations({"client.a": "from . import b", "client.b": "from .a import x"})
    assert len(found) == 1
    assert "import cycle: client.a" in found[0]


def test_a_cycle_through_a_package_is_seen() -> None:
    found = violations({"client": "from .a import A", "client.a": "from . import LIMIT"})
    assert len(found) == 1
    assert "import cycle" in found[0]


SOUND = {
    "a lower floor": ("client.client", "from ..framing.sse import Decoder"),
    "its own folder": ("framing.reader", "from .sse import Decoder"),
    "its own package": ("framing", "from .sse import Decoder"),
    "the version": ("client.client", "from .. import __version__"),
    "a newer typing": ("net", "if TYPE_CHECKING:\n    from typing_extensions import Unpack"),
    "types only": ("client.client", "if typing.TYPE_CHECKING:\n    import ssl"),
    "sockets in net": ("net", "import socket, ssl, subprocess"),
    "randomness": ("framing.sse", "from os import urandom"),
    "the pure part of urllib": ("auth.flow", "from urllib.parse import urlsplit"),
    "the lazy root": ("", "import importlib\ndef __getattr__(name):\n    from . import errors"),
}


@pytest.mark.parametrize(("module", "source"), SOUND.values(), ids=SOUND)
def test_a_sound_import_is_not_a_violation(module: str, source: str) -> None:
    assert not violations({**SCENE, module: source})
