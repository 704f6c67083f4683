"""Every call that starts a process or opens a connection, found in the source: F-SAFE-1.

The calls are found by what they call, and whoever leads to them by following names. Where that
meets the entries of files, the gate has to stand between.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Union

import pytest

import mcpclient
from tests.tooling.imports import read_sources
from tests.tooling.reach import Graph, Node, graph_of

STARTS = re.compile(
    r"subprocess\.(?:Popen|run|call|check_call|check_output|getoutput|getstatusoutput)"
    r"|os\.(?:system|popen|exec\w+|spawn\w+|posix_spawn\w*|startfile|fork\w*)"
    r"|asyncio\.(?:create_subprocess\w+|open_connection|open_unix_connection)"
    r"|(?:\w+\.)*(?:create_connection|create_unix_connection|sock_connect|connect_ex|start_tls"
    r"|create_subprocess_\w+|subprocess_exec|subprocess_shell)"
    r"|webbrowser\.open\w*|pty\.\w+|multiprocessing\.\w+|http\.client\.HTTPS?Connection"
    r"|urllib\.request\.(?:urlopen|build_opener)"
)
# The floors that know of no entry: what they start, somebody above has asked for.
BELOW = {"net", "sandbox", "transports", "client"}
LOWEST = {"net", "sandbox"}
# What an entry of a file is, before it is judged and after.
ENTRIES = {
    *(Node("config.server", "ServerConfig"), Node("config.config", "Config")),
    *(Node("config.reading", "ConfigReader"), Node("entries.resolve", "resolve")),
    *(Node("gate.load", "load_config"), Node("gate.entries", "Entries")),
}
Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
GATE = Node("gate.gate", "Gate")


@functools.cache
def sources() -> Mapping[str, str]:
    return read_sources(Path(mcpclient.__file__).parent)


@functools.cache
def package() -> Graph:
    graph = graph_of(sources())
    # It reads a mapping of the caller's own code into options, which start nothing by themselves.
    server = Node("config.server", "ServerConfig")
    return Graph({**graph.refers, server: set()}, graph.calls)


def floor(node: Node) -> str:
    return node.module.partition(".")[0]


def starting(graph: Graph) -> set[Node]:
    """Return the nodes that start or dial something themselves."""
    return {node for node, calls in graph.calls.items() if any(map(STARTS.fullmatch, calls))}


def meetings(graph: Graph) -> set[Node]:
    """Return the nodes above the client that handle entries and reach what starts something."""
    reaching = graph.reaching(starting(graph))
    return {
        node
        for node in reaching
        if floor(node) not in BELOW and not ENTRIES.isdisjoint(graph.refers.get(node, ()))
    }


def users(graph: Graph, *nodes: Node) -> set[Node]:
    return {node for node, refers in graph.refers.items() if not refers.isdisjoint(nodes)}


def test_only_the_lowest_floors_start_and_dial() -> None:
    """F-SAFE-1: and the finder finds them."""
    found = starting(package())
    assert {floor(node) for node in found} <= LOWEST
    assert {"net.process.launch.launch", "net.dialing.Dialer"} <= set(map(str, found))


def test_where_entries_meet_what_starts_them_the_gate_stands_between() -> None:
    """F-SAFE-1: each of them is the gate's own room, or knows the gate or a loader that does."""
    graph = package()
    judged = {GATE, Node("gate.load", "load_config"), *users(graph, GATE)}
    found = meetings(graph)
    assert found, "nothing was found at all"
    for node in found:
        refers = graph.refers[node]
        passes = floor(node) == "gate" or not judged.isdisjoint(refers) or _loads(graph, node)
        assert passes, f"{node} starts servers of entries past the gate"


def _loads(graph: Graph, node: Node) -> bool:
    """Return whether a node has its entries from one that loads them, and so judges them."""
    return any(
        Node("gate.load", "load_config") in graph.refers.get(other, ())
        for other in graph.refers[node]
    )


def test_only_the_gate_puts_values_into_an_entry() -> None:
    """F-SAFE-1: and only as what it was handed, so that nothing is known before it has judged.

    The caller vouches for a mapping that stands in the caller's own code.
    """
    assert set(map(str, users(package(), Node("entries.resolve", "resolve")))) == {
        "gate.entries.Entries",
        "client.configured.read_mapping",
    }
    (resolved,) = functions("gate.entries", "resolved")
    (server,) = functions("gate.entries", "_server")
    assert any(named(node) == "resolve" for node in ast.walk(resolved))
    uses = [node for node in ast.walk(server) if isinstance(node, ast.Name)]
    uses = [node for node in uses if node.id == "resolved"]
    calls = [node for node in ast.walk(server) if isinstance(node, ast.Call)]
    (judging,) = (call for call in calls if named(call) == "judge")
    assert uses == [judging.args[1]]


def test_a_program_for_headers_is_made_with_the_values() -> None:
    """F-SAFE-1: it is the only thing that an entry starts beside its server."""
    helper = Node("entries.resolve", "HeadersHelper")
    graph = package()
    made = {node for node in users(graph, helper) if floor(node) != "gate"}
    assert set(map(str, made)) == {"entries.resolve._of_url"}
    assert set(map(str, users(graph, *made))) == {"entries.resolve.resolve"}


def test_a_managed_server_is_opened_only_after_it_was_judged() -> None:
    """F-SAFE-1: first connect, reconnect, switching on and a first call are one way."""
    managed = "manager.managed_client"
    makers = {
        module
        for module, source in sources().items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and named(node) == "ManagedClient"
    }
    assert makers == {"manager.server"}
    (opening,) = functions(managed, "open")
    (connecting,) = functions(managed, "connect", kind="ManagedClient")
    assert "super" in names_in(opening)
    assert "super" not in names_in(connecting)
    assert callers_of("open", "client") == {"_connect"}
    assert callers_of("_connect") == {"_try"}
    (trying,) = functions("manager.server", "_try")
    (judging,) = (
        node
        for node in ast.walk(trying)
        if isinstance(node, ast.Await) and named(node.value) == "_judge"
    )
    (attempt,) = (node for node in ast.walk(trying) if named(node) == "_connect")
    guarded = next(node for node in ast.walk(trying) if isinstance(node, ast.Try))
    judged, refused, *rest = guarded.body
    assert isinstance(judged, ast.Assign), "it is judged before anything else"
    assert judged.value is judging and ast.unparse(judged.targets[0]) == "refusal"
    assert isinstance(refused, ast.If), "and given up where it is refused"
    assert ast.unparse(refused.test) == "refusal is not None"
    assert isinstance(refused.body[-1], ast.Return)
    assert any(attempt in ast.walk(statement) for statement in rest)
    (admitted,) = functions("manager.server", "_judge")
    assert "admit" in names_in(admitted)


def test_a_named_server_of_the_command_line_is_ready_before_it_is_handed_on() -> None:
    """F-SAFE-1: whoever returns the target of an entry has looked at its state."""
    found = list(handed_on(sources()))
    assert found, "nothing was found at all"
    assert [name for name, is_checked in found if not is_checked] == []


def handed_on(modules: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """Yield the functions that return something made of an entry's target, above the gate."""
    for module, source in modules.items():
        if module.partition(".")[0] not in ("cli", "inspector", "sync", "testing", "adapters"):
            continue
        for function in ast.walk(ast.parse(source)):
            if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            entries = {
                argument.arg
                for argument in function.args.args
                if argument.annotation and ast.unparse(argument.annotation) == "ServerConfig"
            }
            for node in ast.walk(function):
                if not isinstance(node, ast.Return) or not isinstance(node.value, ast.Call):
                    continue
                if any(
                    isinstance(part, ast.Attribute)
                    and part.attr == "target"
                    and named(part.value) in entries
                    for part in ast.walk(node)
                ):
                    yield f"{module}.{function.name}", _is_checked(function, node.lineno)


def _is_checked(function: ast.AST, line: int) -> bool:
    return any(
        isinstance(node, ast.If)
        and node.lineno < line
        and "state != 'ready'" in ast.unparse(node.test)
        and isinstance(node.body[-1], (ast.Raise, ast.Return))
        for node in ast.walk(function)
    )


def functions(module: str, name: str, kind: str = "") -> list[Function]:
    """Return the functions of this name in a module, or in one of its classes."""
    tree: ast.AST = ast.parse(sources()[module])
    if kind:
        tree = next(each for each in ast.walk(tree) if getattr(each, "name", "") == kind)
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name
    ]


def named(node: ast.AST) -> str:
    """Return the last part of the name of what a node names, or calls."""
    node = node.func if isinstance(node, ast.Call) else node
    return getattr(node, "attr", "") or getattr(node, "id", "")


def names_in(node: ast.AST) -> set[str]:
    return {named(each) for each in ast.walk(node)}


def callers_of(method: str, owner: str = "self") -> set[str]:
    """Return the functions of a manager's server that name a method of ``owner``."""
    return {
        function.name
        for function in ast.walk(ast.parse(sources()["manager.server"]))
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and node.attr == method and named(node.value) == owner
    }


SCENE = {
    "": "",
    "net": "",
    "net.launch": "import subprocess\ndef launch(x): return subprocess.Popen(x)",
    "client": "",
    "client.client": "from ..net.launch import launch\nclass Client:\n  def f(self): launch(1)",
    "config": "",
    "config.server": "class ServerConfig: pass",
    "gate": "",
    "gate.load": "def load_config(): pass",
}
PAST_THE_GATE = """
from ..client.client import Client
from ..config.server import ServerConfig
def start(): return Client(ServerConfig().target)
"""
HANDED_ON = """
def start(server: ServerConfig):
    return Client(server.target)
"""


def test_a_way_past_the_gate_would_be_found() -> None:
    """F-SAFE-1: in a package that has one."""
    graph = graph_of({**SCENE, "manager": "", "manager.fast": PAST_THE_GATE})
    assert set(map(str, starting(graph))) == {"net.launch.launch"}
    assert set(map(str, meetings(graph))) == {"manager.fast.start"}
    assert list(handed_on({"cli.x": HANDED_ON})) == [("cli.x.start", False)]


@pytest.mark.parametrize(
    "line",
    [
        "import subprocess as s\ns.run('x')",
        "from subprocess import Popen as P\ndef f(): P('x')",
        "import os\nclass C:\n  def f(self): os.execv('x', [])",
        "async def f(loop): await loop.create_connection(None)",
        "import asyncio\nasync def f(): await asyncio.open_connection('x')",
    ],
)
def test_every_way_to_start_something_is_seen(line: str) -> None:
    """F-SAFE-1: under another name too, and inside a class."""
    assert len(starting(graph_of({"": "", "net": line}))) == 1
