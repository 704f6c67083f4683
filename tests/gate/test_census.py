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
from tests.tools.imports import read_sources
from tests.tools.reach import Graph, Node, graph_of

pytestmark = pytest.mark.slow

STARTS = re.compile(
    r"subprocess\.(?:Popen|run|call|check_call|check_output|getoutput|getstatusoutput)"
    r"|os\.(?:system|popen|exec\w+|spawn\w+|posix_spawn\w*|startfile|fork\w*)"
    r"|asyncio\.(?:create_subprocess\w+|open_connection|open_unix_connection)"
    r"|(?:\w+\.)*(?:create_connection|create_unix_connection|sock_connect|connect_ex|start_tls"
    r"|create_subprocess_\w+|subprocess_exec|subprocess_shell)"
    r"|webbrowser\.open\w*|pty\.\w+|multiprocessing\.\w+|http\.client\.HTTPS?Connection"
    r"|urllib\.request\.(?:urlopen|build_opener)"
)
# The floors that know of no entry: a higher floor asks for whatever they start.
BELOW = {"net", "sandbox", "transports", "client"}
LOWEST = {"net", "sandbox", "sessions"}
# What an entry of a file is, before it is judged and after.
ENTRIES = {
    *(Node("config.config", "ServerConfig"), Node("config.config", "Config")),
    *(Node("config.reading", "ConfigReader"), Node("entries.resolve", "resolve")),
    *(Node("gate.load", "load_config"), Node("gate.load", "Entries")),
    Node("client.configured", "read_mapping"),
}
# Puts the values into the mapping of an entry; called on servers that are handed in as well.
READS_MAPPING = ".with_mapping_read"
Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
GATE = Node("gate.gate", "Gate")
MAKER, HELPER = Node("entries.resolve", "_Resolver"), Node("entries.resolve", "HeadersHelper")


@functools.cache
def sources() -> Mapping[str, str]:
    return read_sources(Path(mcpclient.__file__).parent)


@functools.cache
def whole() -> Graph:
    return graph_of(sources())


@functools.cache
def package() -> Graph:
    """Return the graph without its edge to the program for headers, which runs later."""
    refers = whole().refers
    return Graph({**refers, MAKER: refers[MAKER] - {HELPER}}, whole().calls)


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
        if floor(node) not in BELOW
        and (not ENTRIES.isdisjoint(graph.refers.get(node, ())) or reads_mapping(graph, node))
    }


def reads_mapping(graph: Graph, node: Node) -> bool:
    return any(call.endswith(READS_MAPPING) for call in graph.calls.get(node, ()))


def users(graph: Graph, *nodes: Node) -> set[Node]:
    return {node for node, refers in graph.refers.items() if not refers.isdisjoint(nodes)}


def test_only_the_lowest_floors_start_and_dial() -> None:
    """F-SAFE-1: and the finder finds them."""
    found = starting(package())
    assert {floor(node) for node in found} <= LOWEST
    assert {"net.process.launch.launch", "net.dialing.Dialer"} <= set(map(str, found))


def test_where_entries_meet_what_starts_them_the_gate_stands_between() -> None:
    """F-SAFE-1: each of them is the gate's own room, or knows the gate or a loader that does."""
    assert meetings(package()), "nothing was found at all"
    assert past_the_gate(package()) == set()


def past_the_gate(graph: Graph) -> set[str]:
    """Return the nodes that start servers of entries, and know neither the gate nor a loader."""
    judged = {GATE, Node("gate.load", "load_config"), *users(graph, GATE)}
    return {
        str(node)
        for node in meetings(graph)
        if floor(node) != "gate"
        and judged.isdisjoint(graph.refers[node])
        and not _loads(graph, node)
    }


def test_reading_an_entry_starts_nothing() -> None:
    """F-SAFE-1: neither a server's configuration, nor a mapping that is read into options."""
    assert package().refers.keys() >= readers(), "one of them has another name"
    assert starting_readers(package()) == set()


def readers() -> set[Node]:
    """Return the nodes that make something of an entry before the gate has judged it."""
    below = {node for node in ENTRIES if floor(node) != "gate"}
    return {*below, Node("client.configured", "client_arguments")}


def starting_readers(graph: Graph) -> set[str]:
    return set(map(str, readers() & graph.reaching(starting(graph))))


def test_a_mapping_is_read_for_one_client_and_for_what_the_gate_judges() -> None:
    """F-SAFE-1: by no other caller, since its values are put in before anything was judged."""
    graph = package()
    assert set(map(str, users(graph, Node("client.configured", "read_mapping")))) == {
        "client.configured.client_arguments",
        "config.config.ServerConfig",
    }
    arguments = Node("client.configured", "client_arguments")
    assert set(map(str, users(graph, arguments))) == {"client.client.Client"}
    assert {str(node) for node in graph.calls if reads_mapping(graph, node)} == {
        "gate.gate.Gate",
        "config.policy.policy.Policy",
        "manager.fleet._configured",
    }
    assert callers("manager.fleet", "_configured") == {"add", "configured_servers"}
    for name in ("add", "configured_servers"):
        (function,) = functions("manager.fleet", name)
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
        (judging,) = (call for call in calls if named(call) == "judge")
        assert named(judging.args[0]) == "_configured"


def _loads(graph: Graph, node: Node) -> bool:
    """Return whether a node has its entries from one that loads them, and so judges them."""
    return any(
        Node("gate.load", "load_config") in graph.refers.get(other, ())
        for other in graph.refers[node]
    )


def test_only_the_gate_puts_values_into_an_entry() -> None:
    """F-SAFE-1: as it was handed, once judged; a caller vouches for mappings in its own code."""
    assert set(map(str, users(package(), Node("entries.resolve", "resolve")))) == {
        "gate.load.Entries",
        "client.configured.read_mapping",
    }
    (resolved,) = functions("gate.load", "resolved")
    (server,) = functions("gate.load", "_server")
    assert any(named(node) == "resolve" for node in ast.walk(resolved))
    uses = [node for node in ast.walk(server) if isinstance(node, ast.Name)]
    uses = [node for node in uses if node.id == "resolved"]
    calls = [node for node in ast.walk(server) if isinstance(node, ast.Call)]
    (judging,) = (call for call in calls if named(call) == "judge")
    assert uses == [judging.args[1]]


def test_a_program_for_headers_is_made_with_the_values() -> None:
    """F-SAFE-1: it is the only thing that an entry starts beside its server."""
    assert {node for node in users(whole(), HELPER) if floor(node) != "gate"} == {MAKER}
    assert set(map(str, users(package(), MAKER))) == {"entries.resolve.resolve"}


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
    """Return the last part of the name that a node has, or calls."""
    node = node.func if isinstance(node, ast.Call) else node
    return getattr(node, "attr", "") or getattr(node, "id", "")


def callers(module: str, function: str) -> set[str]:
    """Return the functions of a module that name one of its own."""
    return {
        node.name
        for node in ast.walk(ast.parse(sources()[module]))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and any(isinstance(each, ast.Name) and each.id == function for each in ast.walk(node))
    }


SCENE = {
    "": "",
    "net": "",
    "net.launch": "import subprocess\ndef launch(x): return subprocess.Popen(x)",
    "client": "",
    "client.client": "from ..net.launch import launch\nclass Client:\n  def f(self): launch(1)",
    "config": "",
    "config.config": "class ServerConfig: pass",
    "gate": "",
    "gate.load": "def load_config(): pass",
}
PAST_THE_GATE = """
from ..client.client import Client
from ..config.config import ServerConfig
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
