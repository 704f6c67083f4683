"""The architecture as a test: which module may import which.

The tables come first; they are the rules. Below them stand the checks, and then snippets of faulty
source, one for each rule, which prove that the checks find such faults.
"""

from __future__ import annotations

import ast
import builtins
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

from mcpclient import errors
from tests.tools.imports import Import, imports_of, read_sources, standard_library

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parent.parent / "mcpclient"

# A module imports only from lower floors, or from its own folder, also inside a function.
FLOORS = {
    "typing_compat": -1,  # names of typing that the oldest Python lacks
    "version": -2,  # of this package
    "hints": -1,  # what to do next about each kind of error
    "display": -1,  # what messages show of commands and URLs
    "suggestions": -1,  # suggestions for a name that does not exist
    "errors": 0,
    "framing": 1,  # bytes <-> events
    "jsonrpc": 2,  # four message values; ids and waiters
    "formats": 2,  # formats that are not MCP's own
    "protocol": 3,  # what MCP means
    "recording": 4,  # one transcript format for traces, tests and replay
    "auth": 4,  # authorization flows that decide and never act
    "sandbox": 4,  # a server process with as few rights as it needs
    "net": 5,  # sockets, processes, the browser, files and the clock
    "transports": 6,  # an Outgoing goes in, messages come out
    "entries": 6,  # one server's entry, from a file or from code
    "client": 7,  # one server
    "sessions": 8,  # the process of a session that stays
    "bridging": 8,  # a stdio server in front of another server
    "telemetry": 8,  # spans around calls
    "config": 8,  # files into servers
    "gate": 9,  # whether a server may start
    "manager": 10,  # many servers
    "adapters": 11,  # tool definitions, calls and results for model APIs
    "code": 12,  # Python that a model writes
    "sync": 12,  # the blocking twin
    "stubs": 13,  # typed Python for the tools of a server
    "testing": 13,  # cassettes and snapshots, for both kinds of client
    "inspector": 13,  # the page in a browser
    "vendoring": 1,  # copies of this package, for other projects
    "gateway": 13,  # a stdio server in front of many servers
    "cli": 14,
    "__main__": 15,  # the door to the cli
    "": 16,  # the root: its names come from every floor
}

# Within a floor, a room (a folder, or a module beside it) imports from lower rooms only.
ROOMS = {
    "client.events": 0,  # observers
    "client.answers": 1,  # requests of the server
    "client.connection": 2,  # one connection
    "client": 3,  # the methods for callers
    "entries": 0,  # the fields and variables of an entry
    "entries.bundles": 1,  # entries in files of their own
    "net": 0,  # connections, files and clocks
    "net.login": 2,  # the runner of auth's flows, the browser, the terminal, and stored logins
    "net.process": 1,  # the server's process
}

# Text alone, on no floor's business: it imports nothing of ours.
LEAVES = {"framing.escaping"}

# These decide without acting, so that the whole protocol is tested without sockets and sleeps.
PURE = {
    "typing_compat",
    "hints",
    "display",
    "suggestions",
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
# FIPS mode is the machine's, and no caller may forget to say so.
ALLOWED_FOR_ONE = {("auth.signing", "os.environ")}

# The operating system is met in one place.
# Where sessions have their sockets, their forks, and the front end of a command.
MEETS_THE_SYSTEM = {"sessions.front", "sessions.forks", "sessions.sockets"}

ONLY_IN_NET = {
    "http.server": "listening is net/login/logins.py's",
    "select": "sockets are net's",
    "selectors": "sockets are net's",
    "signal": "processes are net/process's",
    "socket": "sockets are net's",
    "socketserver": "listening is net/login/logins.py's",
    "ssl": "TLS is set up beside the sockets, in net",
    "subprocess": "processes are net/process's",
    "time": "reads the clock; net/clocks.py's functions are passed on",
    "webbrowser": "the browser is net's",
}

# Programs of their own, which this package only starts.
PROGRAMS = ("sandbox.launcher", "sandbox.restrictions", "code.program")

# Elsewhere nothing asks which era it is: it asks the era, see protocol/era.py.
ERAS = ("protocol.eras",)

# Exceptions that are caught a few lines away and never reach a caller, and by whom they are caught.
SIGNALS = {
    "code.program.ToolError": "a model's code: a program of its own has no other tree",
    "code.program.NoSuchTool": "a model's code: hasattr asks for it",
    "cli.asking._Left": "cli.asking: the user declines",
    "client.typed_results._Unfit": "typed_results: each of several types is tried",
    "config.reading.DocumentError": "config.reading: becomes a problem",
    "entries.entry.EntryError": "gate, client.configured: becomes a problem, or a UsageError",
    "formats.jsonc.JsoncError": "config: becomes a problem",
    "formats.front_matter.FrontMatterError": "protocol.skills, config: an error or a problem",
    "framing.websocket_frames.FrameViolation": "framing.websocket: closes the connection",
    "jsonrpc.codec.MalformedMessage": "transports.base: costs one message",
    "testing.demo_server.Refusal": "DemoServer: becomes a JSON-RPC error",
    "testing.demo_server.ToolFailure": "DemoServer: becomes a result",
    "protocol.schema.values.Stopped": "protocol.schema: becomes a NotChecked",
    "protocol.schema.pattern_syntax.PatternError": "protocol.schema: becomes a SchemaError",
}

# Who sends and receives does as an Outgoing says; what a message means is decided above and below.
KNOW_NO_METHODS = ("net", "transports")
METHOD = re.compile(
    r"initialize|ping|(completion|elicitation|logging|notifications|prompts|resources|roots|sampling"
    r"|server|subscriptions|tasks|tools)/\w[\w/]*"
)

# One module says where annotations find the types that the oldest Python lacks.
NEW_TYPING = ("typing_compat", "typing_extensions")

# The few imports from a higher floor, inside a function or for annotations, and their reasons.
_METHOD = "client.toolbox(…) and manager.toolbox(…) are how a toolbox is made"
_MODEL = "SamplingModel speaks chat completions, which the toolboxes speak as well"
_CODE = "toolbox(…, code=CodeMode()) runs code that calls the toolbox"
FROM_ABOVE = {
    ("client.client", "adapters.toolbox"): _METHOD,
    ("client.client", "adapters.model_api"): _METHOD,
    ("manager.manager", "adapters.toolbox"): _METHOD,
    ("manager.manager", "adapters.model_api"): _METHOD,
    ("client.answers.answerers", "adapters"): _MODEL,
    ("client.answers.answerers", "adapters.openai_chat"): _MODEL,
    ("adapters.toolbox", "code.toolset"): _CODE,
}

# Two modules that import each other, the first one inside a function.
CIRCLES = {("sync.client", "sync.toolbox"): "a blocking client makes a toolbox of its own kind"}

# Importing by name would go around every rule of this file, so few may do it.
ONLY_BY_NAME = {"importlib": "only a table of modules is imported by name"}
MAY_IMPORT_BY_NAME = {
    "",  # the public names
    "sync",  # the public names of the twin
    "cli.commands",  # the one command that is asked for
    "cli.sessions",  # modules that commands import when they need them, before a fork does
    "vendoring.copying",  # importlib.resources: the files of this package, also in an archive
    "code.program",  # asyncio, for code that awaits: it takes twice the start
    "transports.inprocess",  # the package that a server object is from
    "telemetry",  # OpenTelemetry's API, where it is installed
}


def floor_violations(imports: list[Import]) -> Iterator[str]:
    for found in imports:
        if not found.internal:
            continue
        is_late = found.for_types or found.in_function
        if is_late and (found.importer, found.target) in FROM_ABOVE:
            continue
        if f"{found.target}.{found.name}".rstrip(".") in LEAVES or found.target in LEAVES:
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
        if found.for_types and (found.importer, found.target) == NEW_TYPING:
            continue  # type checkers bring it along; nothing imports it at run time
        if (found.importer, found.target) == ("testing.pytest_plugin", "pytest"):
            continue  # only pytest imports this module
        if not found.internal and found.target.partition(".")[0] not in known:
            yield f"{found}: neither relative nor the standard library"


def library_violations(imports: list[Import]) -> Iterator[str]:
    for found in imports:
        if found.internal or found.for_types:
            continue
        folder = _folder(found.importer)
        rules: dict[str, str] = {}
        if folder in PURE:
            rules.update(FORBIDDEN_IN_PURE)
        is_met = folder == "net" or found.importer in MEETS_THE_SYSTEM
        if not is_met and found.importer not in PROGRAMS:
            rules.update(ONLY_IN_NET)
        if found.importer not in MAY_IMPORT_BY_NAME:
            rules.update(ONLY_BY_NAME)
        # `from urllib import request` names the module in two parts.
        imported = f"{found.target}.{found.name}" if found.name else found.target
        if imported not in ALLOWED_IN_PURE and (found.importer, imported) not in ALLOWED_FOR_ONE:
            for forbidden, reason in rules.items():
                if f"{imported}.".startswith(f"{forbidden}."):
                    yield f"{found}: {reason}"


def era_violations(imports: list[Import]) -> Iterator[str]:
    for found in imports:
        imported = f"{found.target}.{found.name}" if found.name else found.target
        names_one = any(f"{imported}.".startswith(f"{era}.") for era in ERAS)
        if names_one and _folder(found.importer) != "protocol":
            yield f"{found}: eras are objects; whoever needs an answer asks EraRules"


def room_violations(imports: list[Import]) -> Iterator[str]:
    for found in imports:
        own, other = _room(found.importer), _room(found.target)
        if not found.internal or own == other or not {own, other} <= ROOMS.keys():
            continue
        if _folder(found.importer) == _folder(found.target) and ROOMS[other] >= ROOMS[own]:
            yield f"{found}: room {other} is not below room {own}"


def _room(module: str) -> str:
    """Return the folder within its floor that a module stands in, or else the floor."""
    folder = ".".join(module.split(".")[:2])
    return folder if folder in ROOMS else _folder(module)


def cycle_violations(imports: list[Import]) -> Iterator[str]:
    graph: dict[str, set[str]] = {}
    for found in imports:
        is_allowed = found.in_function and (found.importer, found.target) in CIRCLES
        is_executed = found.internal and not found.for_types and not is_allowed
        if is_executed and found.importer and found.target:
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
    library_violations,
    era_violations,
    room_violations,
    cycle_violations,
]


Nodes = list[tuple[str, ast.AST]]
"""Every node of the syntax tree of a module, each with its name."""


def exception_violations(nodes: Nodes) -> Iterator[str]:
    builtin = {name for name, value in vars(builtins).items() if _is_exception(value)}
    known = builtin | set(errors.__all__) | {name.rpartition(".")[2] for name in SIGNALS}
    for module, node in nodes:
        if isinstance(node, ast.ClassDef) and known & {*map(_last_name, node.bases)}:
            if _folder(module) != "errors" and f"{module}.{node.name}" not in SIGNALS:
                yield f"{module}:{node.lineno}: {node.name} is not in the tree of errors/"
        elif isinstance(node, ast.Raise) and node.exc is not None:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if _last_name(raised) == "NotImplementedError":
                yield f"{module}:{node.lineno}: what is not there is abstract, or a UsageError"


def clock_violations(nodes: Nodes) -> Iterator[str]:
    for module, node in nodes:
        if not isinstance(node, ast.Attribute) or node.attr not in ("now", "today", "utcnow"):
            continue
        if _last_name(node.value) in ("date", "datetime") and _folder(module) != "net":
            yield f"{module}:{node.lineno}: reads the clock; net/clocks.py does that"


def method_violations(nodes: Nodes) -> Iterator[str]:
    for module, node in nodes:
        if not isinstance(node, ast.Constant) or _folder(module) not in KNOW_NO_METHODS:
            continue
        if isinstance(node.value, str) and METHOD.fullmatch(node.value):
            yield f"{module}:{node.lineno}: decides by the method {node.value}"


def _last_name(node: ast.expr) -> str:
    return getattr(node, "attr", "") or getattr(node, "id", "")


def _is_exception(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


SOURCE_RULES: list[Callable[[Nodes], Iterator[str]]] = [
    exception_violations,
    clock_violations,
    method_violations,
]


class Findings(NamedTuple):
    """The findings in a package: the violations by the name of the rule, and its classes."""

    violations: dict[str, list[str]]
    classes: set[str]


def findings(sources: Mapping[str, str]) -> Findings:
    imports: list[Import] = []
    violations: dict[str, list[str]] = {rule.__name__: [] for rule in SOURCE_RULES}
    classes: set[str] = set()
    for module, source in sources.items():
        tree = ast.parse(source, module)
        imports += imports_of(module, tree, sources)
        nodes: Nodes = [(module, node) for node in ast.walk(tree)]
        for rule in SOURCE_RULES:
            violations[rule.__name__] += rule(nodes)
        classes |= {f"{module}.{node.name}" for _, node in nodes if isinstance(node, ast.ClassDef)}
    for import_rule in RULES:
        violations[import_rule.__name__] = list(import_rule(imports))
    return Findings(violations, classes)


@functools.cache  # reading the package takes longer than all rules
def findings_in_the_package() -> Findings:
    return findings(read_sources(PACKAGE))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rule(rule: Callable[[list[Import]], Iterator[str]]) -> None:
    """F-PACK-1: the standard library only, and every module on its floor."""
    assert not findings_in_the_package().violations[rule.__name__]


@pytest.mark.parametrize("rule", SOURCE_RULES, ids=lambda rule: rule.__name__)
def test_the_source_keeps_the_rule(rule: Callable[[Nodes], Iterator[str]]) -> None:
    """F-WIRE-2, F-SHOW-8: one tree of errors, one place for clocks, no methods in transports."""
    assert not findings_in_the_package().violations[rule.__name__]


def test_every_exception_apart_from_the_tree_is_there() -> None:
    """F-WIRE-2: the table names none that has gone."""
    assert SIGNALS.keys() <= findings_in_the_package().classes


def test_no_module_imports_from_the_root() -> None:
    """F-PACK-1: its stub names everything, so type checkers would see one large circle."""
    for path in set(PACKAGE.rglob("*.py")) - {PACKAGE / "__init__.py", PACKAGE / "__main__.py"}:
        dots = re.escape("." * len(path.relative_to(PACKAGE).parts))
        assert not re.search(rf"(?m)^\s*from {dots} import", path.read_text("utf-8")), path


def violations(sources: Mapping[str, str]) -> list[str]:
    return [text for texts in findings(sources).violations.values() for text in texts]


# Modules that the snippets below may import.
SCENE = {
    "": "",
    "errors": "",
    "version": "",
    "framing": "",
    "framing.sse": "",
    "protocol": "",
    "protocol.eras": "",
    "net": "",
    "net.files": "",
    "net.login.storage": "",
    "client.client": "",
    "client.answers.answerers": "",
    "client.events.callbacks": "",
    "client.connection.session": "",
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
    "the root": ("client.client", "from .. import connect", "floor 16 is not below floor 7"),
    "no floor": ("helpers", "from .errors import McpError", "helpers has no floor"),
    "outside": ("framing.sse", "from ...other import x", "<outside the package> has no floor"),
    "third party": ("net", "import httpx", "nor the standard library"),
    "a newer typing": (
        "typing_compat",
        "from typing_extensions import Unpack",
        "nor the standard library",
    ),
    "a newer typing elsewhere": (
        "net",
        "if TYPE_CHECKING:\n    from typing_extensions import Unpack",
        "nor the standard library",
    ),
    "own absolute name": ("net", "from mcpclient.errors import McpError", "neither relative"),
    "function level": (
        "net.http",
        "def f():\n    from ..client.client import Client",
        "not below floor 5",
    ),
    "method level": (
        "net.http",
        "class C:\n    async def f(self):\n        if self:\n            import httpx",
        "nor the standard library",
    ),
    "a clock": ("protocol.caching", "import time", "reads the clock"),
    "asyncio part": ("jsonrpc.correlator", "import asyncio.tasks", "belongs to the shell"),
    "environment": ("auth.flow", "from os import environ", "reads the environment"),
    "a connection": ("auth.flow", "from urllib import request", "opens connections"),
    "socket": ("transports.stdio", "import socket", "sockets are net's"),
    "subprocess": ("transports.stdio", "from subprocess import Popen", "net/process's"),
    "an era": ("client.client", "from ..protocol.eras import StatelessEra", "eras are objects"),
    "an era as a module": ("client.client", "from ..protocol import eras", "eras are objects"),
    "a clock outside net": ("transports.stdio", "from time import monotonic", "reads the clock"),
    "a date of today": (
        "client.client",
        "import datetime\ndatetime.datetime.now()",
        "reads the clock",
    ),
    "an exception of its own": (
        "client.client",
        "class Odd(ValueError):\n    pass",
        "Odd is not in the tree",
    ),
    "a kind of an error": (
        "client.client",
        "from .. import errors\nclass Odd(errors.PeerError):\n    pass",
        "Odd is not in the tree",
    ),
    "what is not implemented": (
        "client.client",
        "def f():\n    raise NotImplementedError('yet')",
        "what is not there is abstract",
    ),
    "a method's name": (
        "transports.stdio",
        "def f(message):\n    return message['method'] == 'tools/call'",
        "decides by the method tools/call",
    ),
    "a higher room": (
        "client.answers.answerers",
        "from ..connection.session import Session",
        "room client.connection is not below room client.answers",
    ),
    "a room under its floor": (
        "client.events.callbacks",
        "from ..client import Client",
        "room client is not below room client.events",
    ),
    "a room above its floor": (
        "net.files",
        "from .login.storage import FileStore",
        "room net.login is not below room net",
    ),
    "by name": ("client.connect", "from importlib import import_module", "only a table of modules"),
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


def test_a_cycle_through_a_function_is_seen() -> None:
    inner = "def f():\n    from . import b"
    (found,) = violations({"client.a": inner, "client.b": "from .a import x"})
    assert "import cycle: client.a" in found


def test_a_class_for_annotations_makes_no_cycle() -> None:
    typed = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from .a import A\n"
    assert not violations({"client.a": "from . import b\n\nA = int", "client.b": typed})
