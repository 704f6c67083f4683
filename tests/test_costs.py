"""Whatever a peer can make larger costs in proportion, counted and not timed.

Each row prepares work of some size. It is done at two sizes, one four times the other, by a copy of
the package that counts its steps and the bytes it goes through (`tests.tools.work_counter`).
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import zlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Callable

import pytest

from tests.support.tables import each_row
from tests.tools.work_counter import Task, WorkCounter, growth

pytestmark = pytest.mark.slow

Work = Callable[[], object]

# Four times the size: linear work is four times as much, and a logarithm adds less than this.
# Quadratic work is sixteen times as much.
MOST = 5.5


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def fed(reader: Any, parts: list[bytes]) -> Work:
    return lambda: [reader.feed(part) for part in parts]


def a_long_line(counter: WorkCounter, size: int) -> Work:
    return fed(counter.module("framing.ndjson").LineFramer(), pieces(b"x" * size * 8 + b"\n", 8))


def many_lines(counter: WorkCounter, size: int) -> Work:
    return fed(counter.module("framing.ndjson").LineFramer(), [b'{"a":1}\n' * size])


def a_line_over_the_limit(counter: WorkCounter, size: int) -> Work:
    return fed(counter.module("framing.ndjson").LineFramer(64), pieces(b"x" * size * 8 + b"\n", 8))


def an_event_in_pieces(counter: WorkCounter, size: int) -> Work:
    data = b"data: " + b"x" * size * 8 + b"\n\n"
    return fed(counter.module("framing.sse").EventDecoder(), pieces(data, 8))


def an_event_of_many_lines(counter: WorkCounter, size: int) -> Work:
    return fed(counter.module("framing.sse").EventDecoder(), [b"data: x\r\n" * size + b"\r\n"])


def many_events(counter: WorkCounter, size: int) -> Work:
    return fed(counter.module("framing.sse").EventDecoder(), [b"id: 1\ndata: x\n\n" * size])


def http(counter: WorkCounter, parts: list[bytes]) -> Work:
    parser = counter.module("framing.http1").ResponseParser()
    parser.start("GET")
    return fed(parser, parts)


def a_head_in_pieces(counter: WorkCounter, size: int) -> Work:
    fields = b"".join(b"X-%d: 1\r\n" % number for number in range(size // 24))
    return http(counter, pieces(b"HTTP/1.1 204 No\r\n" + fields + b"\r\n", 8))


def many_chunks(counter: WorkCounter, size: int) -> Work:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return http(counter, [head + b"4\r\nbody\r\n" * size + b"0\r\n\r\n"])


def a_body_in_pieces(counter: WorkCounter, size: int) -> Work:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (size * 8)
    return http(counter, [head, *pieces(b"x" * size * 8, 8)])


def websocket(counter: WorkCounter, parts: list[bytes]) -> Work:
    return fed(counter.module("framing.websocket").WebSocketProtocol(), parts)


def a_message_of_many_frames(counter: WorkCounter, size: int) -> Work:
    return websocket(counter, [b"\x01\x01x" + b"\x00\x01x" * size + b"\x80\x01x"])


def a_frame_in_pieces(counter: WorkCounter, size: int) -> Work:
    frame = b"\x81\x7f" + (size * 8).to_bytes(8, "big") + b"x" * size * 8
    return websocket(counter, pieces(frame, 8))


def many_messages(counter: WorkCounter, size: int) -> Work:
    return websocket(counter, [b"\x81\x04text" * size])


def a_message_to_send(counter: WorkCounter, size: int) -> Work:
    protocol = counter.module("framing.websocket").WebSocketProtocol()
    return lambda: protocol.send_text(b"x" * size * 64)


def a_compressed_body(counter: WorkCounter, size: int) -> Work:
    decoder = counter.module("framing.content_coding").ContentDecoder("gzip")
    engine = zlib.compressobj(wbits=31)
    body = engine.compress(random.Random(1).randbytes(size * 8)) + engine.flush()
    return lambda: [list(decoder.decode(part)) for part in pieces(body, 8)]


def header_fields(counter: WorkCounter, size: int) -> Work:
    headers = counter.module("framing.headers")
    block = "\r\n".join(f"name-{number}: value" for number in range(size // 8))
    return lambda: headers.parse_fields(block)


def a_message(counter: WorkCounter, size: int) -> Work:
    codec = counter.module("jsonrpc.codec")
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"items": ["x"] * size}})
    return lambda: codec.encode(codec.decode(text))


def the_id_of_a_message(counter: WorkCounter, size: int) -> Work:
    module = counter.module("jsonrpc.response_id")
    text = b'{"result":{' + b'"a":"id",' * size + b'"b":1},"id":7}'
    return lambda: module.find_response_id(text)


def a_nested_message(counter: WorkCounter, size: int) -> Work:
    weight = counter.module("jsonrpc.codec")
    value = json.loads("[" + '{"a":[1,2]},' * size + "0]")
    return lambda: weight.weight_of(value, math.inf)


def requests_in_flight(counter: WorkCounter, size: int) -> Work:
    correlator = counter.module("jsonrpc.correlator").Correlator()

    class Waiter(SimpleNamespace):
        def done(self) -> bool:
            return False

        def set_result(self, result: object) -> None:
            pass

    def work() -> None:
        opened = [correlator.open("tools/call", Waiter(), 0.0, idle=1.0) for _ in range(size)]
        for pending in opened:
            correlator.progress({"progressToken": pending.id, "progress": 1}, 0.5)
            correlator.settle({"id": pending.id, "result": {}})
            correlator.close(pending)

    return work


def requests_that_expire(counter: WorkCounter, size: int) -> Work:
    correlator = counter.module("jsonrpc.correlator").Correlator()
    waiter = SimpleNamespace(done=lambda: False, set_exception=lambda error: None)
    for _ in range(size):
        correlator.open("tools/call", waiter, 0.0, idle=1.0)
    return lambda: (correlator.next_deadline(), correlator.expire(2.0))


def redacted_text(counter: WorkCounter, size: int) -> Work:
    redactor = counter.module("recording.redaction").Redactor()
    redactor.learn({"API_KEY": "sk-1234567890abcdef"})
    text = 'some words, a=b&c=d, Bearer abcdefghijkl and {"x": 1} ' * size
    return lambda: redactor.text(text)


def many_secrets(counter: WorkCounter, size: int) -> Work:
    redactor = counter.module("recording.redaction").Redactor()
    value = {"list": [{"password": f"secret-number-{each}", "a": "b"} for each in range(size // 8)]}
    return lambda: redactor.message(value)


def schema(counter: WorkCounter, schema: object, value: object) -> Work:
    compiled = counter.module("protocol.schema").compile_schema(schema)

    def work() -> None:
        assert compiled.validate(value) == []

    return work


def an_array_to_validate(counter: WorkCounter, size: int) -> Work:
    items = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    return schema(counter, {"type": "array", "items": items}, [{"a": 1}] * size)


def an_object_to_validate(counter: WorkCounter, size: int) -> Work:
    rules = {"patternProperties": {"^p": {"type": "integer"}}, "unevaluatedProperties": False}
    return schema(counter, rules, {f"p{number}": number for number in range(size // 2)})


def unique_items(counter: WorkCounter, size: int) -> Work:
    return schema(counter, {"uniqueItems": True}, [{"a": number} for number in range(size)])


def a_schema_to_compile(counter: WorkCounter, size: int) -> Work:
    compile_schema = counter.module("protocol.schema").compile_schema
    names = [f"d{number}" for number in range(size // 8)]
    definitions: dict[str, object] = {name: {"type": "string", "minLength": 1} for name in names}
    rules = {
        "$defs": definitions,
        "properties": {name: {"$ref": f"#/$defs/{name}"} for name in names},
    }
    return lambda: compile_schema(rules)


def tools_to_search(counter: WorkCounter, size: int) -> Work:
    search = counter.module("protocol.tool_search").search_tools
    tool = counter.module("protocol.types").Tool
    tools = [tool({"name": f"tool_{number}", "inputSchema": {}}) for number in range(size // 4)]
    return lambda: search("a tool", tools)


def names_of_tools(counter: WorkCounter, size: int) -> Work:
    names = counter.module("manager.naming").ToolNames("server__tool", 64)
    return lambda: names.assign("server", [f"tool_{number}" for number in range(size)])


def names_that_are_alike(counter: WorkCounter, size: int) -> Work:
    names = counter.module("manager.naming").ToolNames("server__tool", 64)
    return lambda: names.assign("server", [f"tool{chr(0x4E00 + number)}" for number in range(size)])


def names_of_many_servers(counter: WorkCounter, size: int) -> Work:
    servers = [f"s{number}" for number in range(size // 8)]
    names = counter.module("manager.naming").ToolNames("tool", 64, servers)
    return lambda: [names.assign(server, ["search", f"own_{server}"]) for server in servers]


def tools_of_a_server(counter: WorkCounter, size: int) -> Work:
    names = counter.module("manager.naming").ToolNames("server__tool", 64)
    catalog = counter.module("manager.tools").Catalog(names, lambda news: None)
    home = SimpleNamespace(name="server", client=None, trusted=False, stale=False)
    tools = [{"name": f"tool_{number}", "inputSchema": {}} for number in range(size // 4)]
    return lambda: (catalog.update(home, tools), catalog.update(home, tools))


def resources_of_several_servers(counter: WorkCounter, size: int) -> Work:
    items = [{"uri": f"file:///{number}"} for number in range(size)]
    names = counter.module("manager.naming").ToolNames("server__tool", 64)

    async def listed(method: str, key: str) -> list[dict[str, str]]:
        return items

    upstreams = {
        name: SimpleNamespace(name=name, listed=listed, offers=lambda kind: True)
        for name in ("a", "b")
    }
    changes = SimpleNamespace(changed=lambda *kinds: None)
    gateway = SimpleNamespace(
        upstreams=upstreams, changes=changes, tasks=SimpleNamespace(start=asyncio.ensure_future)
    )
    directory = counter.module("gateway.directory").Directory(gateway, names)
    return lambda: asyncio.run(directory.items("resources/list"))


def a_configuration_file(counter: WorkCounter, size: int) -> Work:
    jsonc = counter.module("formats.jsonc")
    members = ",\n".join(f'"s{number}": {{"args": [1, 2], /* b */}}' for number in range(size // 8))
    return lambda: jsonc.parse_jsonc(f"{{ // a\n{members}\n}}")


def front_matter(counter: WorkCounter, size: int) -> Work:
    module = counter.module("formats.front_matter")
    text = "".join(f"key{number}:\n  - one\n  - two\n" for number in range(size // 8))
    return lambda: module.parse_front_matter(text)


def a_uri_template(counter: WorkCounter, size: int) -> Work:
    module = counter.module("formats.uri_template")
    return lambda: module.expand("a/{b}" * (size // 4), {"b": "c d"})


def a_command_to_show(counter: WorkCounter, size: int) -> Work:
    display = counter.module("display")
    return lambda: display.shown_command(["program", *["--word=value"] * (size // 8)])


TASKS = [
    value
    for value in list(globals().values())
    if getattr(value, "__annotations__", {}).keys() == {"counter", "size", "return"}
]


@pytest.fixture(scope="module")
def counter() -> Iterator[WorkCounter]:
    with WorkCounter() as counting:
        yield counting


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_the_work_is_linear(task: Task, counter: WorkCounter) -> None:
    """F-WIRE-3 to F-WIRE-6, F-API-17, F-MANY-17, F-TOOL-7."""
    times = growth(task, 400, counter)
    assert 1.5 < times < MOST, f"{times:.1f} times the work for four times the size"


# Faults that no result shows: module, what stands there, what would be quadratic, and a task.
QUADRATIC = [
    (
        "framing.sse",
        "self._data += value",
        "self._data = self._data + value",
        an_event_of_many_lines,
    ),
    ("framing.http1", "begin + held - 2", "begin", a_head_in_pieces),
    ("manager.naming", "_MOST_NUMBERED = 9", "_MOST_NUMBERED = 1_000", names_that_are_alike),
]


@each_row(("module", "old", "new", "task"), QUADRATIC)
def test_a_quadratic_fault_is_seen(module: str, old: str, new: str, task: Task) -> None:
    """The rows above could fail: the fault changes no result, only its cost."""
    size = 50 if module.startswith("manager") else 400
    with WorkCounter((module, old, new)) as faulty:
        assert growth(task, size, faulty) > MOST
