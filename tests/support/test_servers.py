"""The servers that tests connect to: one general server, and a reason for each that stands apart.

A test's MCP server is an `OpenedServer` of ``tests/support/mcp_server.py``, or is built on one: it
inherits from it (`McpServer`, which has tools; `ScriptedServer`, whose answers are coroutine
functions; `ToolServer`, whose tools are), or holds one and brings its messages over a transport.
Every other class that is called a server, a peer or an endpoint has a row here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.subprocesses import TOP

APART = {
    # MCP
    "mcpclient/testing/demo_server.py:DemoServer": (
        "shows how little a server needs, in one file that runs by itself and is read by users"
    ),
    "tests/faults/faulty_peers/peer.py:Peer": (
        "carries a script of faults, which has the McpServer, over one of the transports"
    ),
    # The protocols below it: none of these says anything of MCP's own.
    "tests/support/http_server.py:HttpServer": "HTTP only: what it answers are handlers",
    "tests/tools/test_capture.py:HttpServer": "answers every request with the same bytes",
    "tests/net/websocket_peer.py:Peer": "WebSocket frames only, right and wrong ones",
    "tests/framing/test_websocket_peer.py:Peers": "two state machines of WebSocket, without I/O",
    "tests/transports/test_event_stream_server.py:Server": "gives one event stream after another",
    "tests/client/connection/test_connection_paging.py:Server": "gives one page after another",
    "tests/client/connection/test_applications.py:Server": "looks like a Python SDK server",
    "tests/auth/world.py:AuthorizationServerFake": "OAuth, as pure functions of requests",
    "tests/auth/world.py:ResourceServerFake": "OAuth, as pure functions of requests",
    "tests/cli/odd_servers.py:Endpoint": "answers each request with the same bytes",
    "tests/client/connection/test_opening_eras.py:SdkServer": "opens as one SDK does, and no more",
    # What plays, records, measures or manages servers
    "conformance/capture/taps/http.py:_Peer": "one side of a connection that is recorded",
    "conformance/replay/http_peer.py:HttpPeer": "plays what was recorded, and knows no MCP",
    "conformance/replay/stdio_peer.py:StdioPeer": "plays what was recorded, and knows no MCP",
    "conformance/capture/servers/scripted.py:HttpServer": "follows a plan, right and wrong",
    "conformance/peers/__init__.py:Server": "says how a server of others is started",
    "tests/tools/bench/processes.py:HttpServer": "the server's process",
    "tests/tools/bench/idle_hour.py:_Server": "the server, in simulated time",
    "tests/tools/bench/many_servers.py:NamedServer": "a class of fastmcp with another name",
    "tests/tools/soak/managed_lane.py:ManagedServer": "a client that a manager has",
}

# Code that answers an opening by itself. Tests that give a single result need no row.
OPENINGS_APART = {
    "mcpclient/testing/demo_server.py": "see above",
    "conformance/websocket/servers/websockets_server.py": (
        "runs in an environment that has the websockets package and nothing of this project"
    ),
    "conformance/capture/servers/scripted.py": "follows a plan, right and wrong",
    "tests/tools/bench/servers.py": "answers with prepared bytes, so that it takes next to no time",
    "tests/entries/bundles/making.py": "is packed into bundles, and runs from there",
    "tests/inspector/faulty_server.py": "says what no server may say",
    "tests/tools/fuzz/targets/conversation.py": "gives a fuzzer results to spoil",
}

GENERAL = {"OpenedServer", "McpServer", "DemoServer"}
A_SERVER = re.compile(r"(Server|Peers?|Endpoint)(Fake|InProcess)?$")
ITS_CLASS = re.compile(rf"\bclass\s+\w*{A_SERVER.pattern[:-1]}\b")


def modules() -> Iterator[tuple[str, str]]:
    for folder in ("tests", "conformance", "mcpclient/testing"):
        for path in sorted((TOP / folder).rglob("*.py")):
            name = path.relative_to(TOP).as_posix()
            if "/.peers/" not in name:
                yield name, path.read_text("utf-8")


def servers_apart(name: str, source: str) -> Iterator[str]:
    """The servers of a module that neither are nor hold a general one."""
    if not ITS_CLASS.search(source):  # most have none, and reading their syntax takes long
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and A_SERVER.search(node.name):
            bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
            named = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            is_built = any(map(A_SERVER.search, bases)) or named & GENERAL
            if not is_built and node.name not in GENERAL - {"DemoServer"}:
                yield f"{name}:{node.name}"


def test_every_server_is_built_on_the_general_one_or_has_a_reason() -> None:
    found = {each for name, source in modules() for each in servers_apart(name, source)}
    assert found == set(APART)


def test_every_opening_is_the_general_one_or_has_a_reason() -> None:
    found = {
        name
        for name, source in modules()
        if "serverInfo" in source
        and not Path(name).name.startswith("test_")
        and re.search(r"""["']serverInfo["'\\]+:""", source)
    }
    assert found == {*OPENINGS_APART, "tests/support/mcp_server.py"}


def test_a_server_of_its_own_is_seen() -> None:
    source = "class OddServer: ...\nclass Fine(OddServer): ...\nclass Another: ..."
    assert list(servers_apart("a.py", source)) == ["a.py:OddServer"]
    assert not list(servers_apart("a.py", "class MyServer:\n    inner = McpServer()"))
    assert not list(servers_apart("a.py", "class MyServer(ScriptedServer): ..."))
