"""F-SHOW-24: a server's messages are judged by its revision's schema and its capabilities."""

from __future__ import annotations

from typing import Any

from mcpclient.protocol.faults import CODES
from mcpclient.protocol.faults.judge import Judge
from mcpclient.protocol.faults.lists import entry_faults, schema_faults
from tests.support.tables import each_row

OBJECT = {"type": "object"}
ERROR = {"code": -32603, "message": "m"}
NO_CODE = "its error has no integer as its code"
ALL: dict[str, Any] = {
    **{name: {"listChanged": True} for name in ("tools", "prompts")},
    "resources": {"listChanged": True, "subscribe": True},
    "logging": {},
}
CLIENT: dict[str, Any] = {"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {}}
META = "io.modelcontextprotocol/"


class Conversation:
    """One connection that has been opened, and its judge."""

    def __init__(self, revision: str, server: Any = None, client: Any = None) -> None:
        self.revision = revision
        self.judge = Judge()
        capabilities = {"capabilities": ALL if server is None else server}
        answers = CLIENT if client is None else client
        self.meta: dict[str, Any] = {}
        if revision == "2026-07-28":
            self.meta = {META + "protocolVersion": revision, META + "clientCapabilities": answers}
            more = {"supportedVersions": [revision], "ttlMs": 1, "cacheScope": "private"}
            opened = self.ask("server/discover", resultType="complete", **capabilities, **more)
        else:
            info = {"serverInfo": {"name": "s", "version": "1"}, "protocolVersion": revision}
            params = {"protocolVersion": revision, "capabilities": answers}
            opened = self.ask("initialize", params, **capabilities, **info)
        assert opened == []

    def begin(self, method: str, params: Any = None, identity: Any = 1) -> None:
        params = {**(params or {}), "_meta": {**self.meta, **(params or {}).get("_meta", {})}}
        self.judge.sent({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})

    def hear(self, **message: Any) -> list[str]:
        _, found = self.judge.received({"jsonrpc": "2.0", **message})
        assert all(each.code in CODES and each.clause for each in found)
        return [f"{each.code}: {each.text}" for each in found]

    def ask(self, method: str, params: Any = None, **result: Any) -> list[str]:
        self.begin(method, params)
        return self.hear(id=1, result=result)


def text(value: str = "a") -> dict[str, Any]:
    return {"type": "text", "text": value}


KINDS = "'text', 'image', 'audio', 'resource_link', 'resource'"
RESULTS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("tools/call", {"content": [text()], "x": 1, "_meta": {"y": 2}}, []),
    ("tools/call", {"content": "a"}, ["result.content: 'a' is not an array"]),
    ("tools/call", {}, ["result: the required member 'content' is missing"]),
    ("tools/call", {"content": ["a"]}, ["result.content[0]: 'a' is not an object"]),
    (
        "tools/call",
        {"content": [text(), {"type": "vidoe"}]},
        [f"result.content[1].type: 'vidoe' is none of {KINDS}"],
    ),
    (
        "tools/call",
        {"content": [{"type": "image", "data": "aGk="}]},
        ["result.content[0]: the required member 'mimeType' is missing"],
    ),
    (
        "tools/call",
        {"content": [{"type": "audio", "data": "no!", "mimeType": "audio/wav"}]},
        ["result.content[0].data: 'no!' does not have the format byte"],
    ),
    (
        "tools/call",
        {"content": [], "isError": "yes", "structuredContent": [1]},
        [
            "result.isError: 'yes' is not a boolean",
            "result.structuredContent: an array of 1 item is not an object",
        ],
    ),
    ("tools/call", {"content": [], "resultType": "task"}, []),
    ("resources/read", {"contents": {}}, ["result.contents: an object is not an array"]),
    (
        "prompts/get",
        {"messages": [{"role": "system", "content": text()}]},
        ["result.messages[0].role: 'system' is not one of 'assistant', 'user'"],
    ),
    (
        "completion/complete",
        {"completion": {"values": "a"}},
        ["result.completion.values: 'a' is not an array"],
    ),
    (
        "tools/list",
        {"tools": [{"name": "a b", "inputSchema": OBJECT}, {"name": "c"}]},
        [
            "result.tools[1]: the required member 'inputSchema' is missing",
            "result.tools[0].name: must be 1 to 128 letters, digits, underscores, dashes and dots",
        ],
    ),
    (
        "prompts/list",
        {"prompts": [{"name": "a"}, {"name": "a"}], "nextCursor": 7},
        [
            "result.nextCursor: 7 is not a string",
            "result.prompts[1].name: another entry has it as well",
        ],
    ),
    ("x/unknown", {"anything": 1}, []),
    ("ping", {"_meta": 3}, ["result._meta: 3 is not an object"]),
]


@each_row(("method", "result", "expected"), RESULTS)
def test_a_result_is_judged_by_the_schema_of_its_method(
    method: str, result: dict[str, Any], expected: list[str]
) -> None:
    found = Conversation("2025-11-25").ask(method, **result)
    assert [each.partition(": ")[2] for each in found] == expected


MESSAGES: list[tuple[dict[str, Any], str]] = [
    (
        {"method": "notifications/tools/list_changed"},
        "undeclared: notifications/tools/list_changed "
        "needs the capability tools.listChanged, which is not declared",
    ),
    (
        {"method": "notifications/message", "params": {"level": "info", "data": 1}},
        "undeclared: notifications/message needs the capability logging, which is not declared",
    ),
    (
        {"method": "notifications/resources/updated", "params": {"uri": "a:b"}},
        "undeclared: "
        "notifications/resources/updated needs the capability resources.subscribe, which "
        "is not declared",
    ),
    (
        {"id": 1, "method": "roots/list"},
        "unsupported: roots/list needs roots, which the client has not declared",
    ),
    (
        {"id": 1, "method": "odd/thing"},
        "message: servers send no request 'odd/thing' in this revision",
    ),
    ({"id": 1, "method": "ping"}, ""),
    ({"method": "notifications/x"}, ""),
    (
        {"method": "notifications/progress", "params": {"progressToken": 9, "progress": 1}},
        "progress: the progress token 9 belongs to no pending request",
    ),
]


@each_row(("message", "expected"), MESSAGES)
def test_what_was_not_declared_is_a_fault(message: dict[str, Any], expected: str) -> None:
    assert "; ".join(Conversation("2025-11-25", {}, {}).hear(**message)) == expected


FORM = {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}
QUESTIONS: list[tuple[str, dict[str, Any], str]] = [
    (
        "elicitation/create",
        {"message": "m", "requestedSchema": FORM},
        "message: params.requestedSchema.properties.a.type: 'object' is none of 'string', "
        "'integer', 'number', 'boolean', 'array'",
    ),
    (
        "elicitation/create",
        {"message": "m", "mode": "url", "url": "https://x.example/"},
        "message: params: the required member 'elicitationId' is missing",
    ),
    (
        "sampling/createMessage",
        {"messages": [], "maxTokens": "9"},
        "message: params.maxTokens: '9' is not an integer",
    ),
    ("roots/list", {}, ""),
]


@each_row(("method", "params", "expected"), QUESTIONS)
def test_questions_are_judged(method: str, params: dict[str, Any], expected: str) -> None:
    assert Conversation("2025-11-25").hear(id=7, method=method, params=params) == (
        [expected] if expected else []
    )


def test_questions_of_the_stateless_era_stand_in_results() -> None:
    """The server sends no requests there."""
    talk = Conversation("2026-07-28", client={"roots": {}})
    assert talk.hear(id=7, method="roots/list") == [
        "message: servers send no request 'roots/list' in this revision"
    ]
    asked = {"a": {"method": "elicitation/create", "params": {"message": "m"}}}
    found = talk.ask("tools/call", resultType="input_required", inputRequests=asked)
    assert [each.partition(":")[0] for each in found] == ["result", "unsupported"]


def test_progress_has_a_pending_request_and_increases() -> None:
    talk = Conversation("2025-11-25")
    talk.begin("tools/call", {"_meta": {"progressToken": "t"}})

    def progress(value: Any, token: Any = "t") -> list[str]:
        params = {"progressToken": token, "progress": value}
        return talk.hear(method="notifications/progress", params=params)

    assert progress(1) == progress(2.5) == []
    assert progress(2.5) == ["progress: the progress 2.5 does not exceed 2.5, which came before"]
    assert len(progress(3, "other")) == 1
    assert progress("x") == ["message: params.progress: 'x' is not a number"]
    assert talk.hear(id=1, result={"content": []}) == []
    assert len(progress(4)) == 1  # the request is over


def test_log_messages_have_the_level_that_was_asked_for() -> None:
    talk = Conversation("2025-11-25")

    def log(level: str) -> list[str]:
        return talk.hear(method="notifications/message", params={"level": level, "data": "d"})

    assert log("debug") == []
    assert talk.ask("logging/setLevel", {"level": "error"}) == []
    assert log("alert") == []
    assert log("info") == ["log-level: the level info is below error, which was asked for"]
    assert [each.partition(":")[0] for each in log("loud")] == ["message"]
    talk = Conversation("2026-07-28")
    assert log("alert") == ["log-level: no pending request asked for log messages"]
    talk.begin("tools/call", {"_meta": {META + "logLevel": "warning"}})
    assert log("error") == []
    assert len(log("info")) == 1


@each_row("revision", ["2024-11-05", "2025-11-25", "2026-07-28"])
def test_notifications_alike_are_judged_alike(revision: str) -> None:
    # Those of one shape are checked by their schema once; a later one of another shape is checked.
    talk = Conversation(revision)
    talk.begin("tools/call", {"_meta": {"progressToken": "t", META + "logLevel": "debug"}})
    fine: dict[str, Any] = {"level": "info", "data": "a"}
    bad: list[tuple[str, dict[str, Any]]] = [
        ("message", {**fine, "level": "loud"}),
        ("message", {**fine, "level": 1}),
        ("message", {**fine, "logger": 1}),
        ("message", {"level": "info"}),
        ("progress", {"progressToken": "t", "progress": "2"}),
        ("progress", {"progressToken": 1.5, "progress": 1}),
        ("resources/updated", {"uri": "no URI"}),
        ("resources/updated", {"uri": 1}),
    ]
    for round in range(3):
        for data in ("a", "b", {"c": round}):
            assert talk.hear(method="notifications/message", params={**fine, "data": data}) == []
        step = {"progressToken": "t", "progress": round}
        assert talk.hear(method="notifications/progress", params=step) == []
        assert talk.hear(method="notifications/resources/updated", params={"uri": "a:b"}) == []
        for method, params in bad:
            found = talk.hear(method=f"notifications/{method}", params=params)
            assert [each for each in found if each.startswith("message: ")], (method, params)


def test_structured_content_is_that_of_the_listed_tool() -> None:
    talk = Conversation("2025-11-25")
    output = {"type": "object", "properties": {"count": {"type": "integer"}}}
    tools = [{"name": "t", "inputSchema": OBJECT, "outputSchema": output}]
    assert talk.ask("tools/list", tools=tools) == []
    call = ("tools/call", {"name": "t"})
    assert talk.ask(*call, content=[]) == [
        "structured-content: the tool declares an output schema, and the result has no "
        "structuredContent"
    ]
    assert talk.ask(*call, content=[], structuredContent={"count": "many"}) == [
        "output-schema: result.structuredContent.count: 'many' is not an integer"
    ]
    assert talk.ask(*call, content=[], structuredContent={"count": 1}) == []
    assert talk.ask(*call, content=[text()], isError=True) == []


def test_a_response_nobody_waits_for_is_a_fault() -> None:
    """F-SHOW-14: of an unknown id, of one answered before, of an id of another type."""
    talk = Conversation("2025-11-25")
    talk.begin("ping", identity=2)
    assert talk.hear(id="2", result={}) == ["response-id: its id '2' was unknown"]
    assert talk.hear(id=2, result={}) == []
    assert talk.hear(id=2, result={}) == ["response-id: its id 2 was answered before"]
    assert talk.hear(id=None, error=ERROR) == []  # to a message that could not be read


@each_row(
    ("message", "fault"),
    [
        ([], "it is not a JSON object"),
        ({"event": "ready"}, "it is not a JSON-RPC message"),
        ({"id": 1, "result": {}}, 'it has no "jsonrpc": "2.0"'),
        ({"jsonrpc": 2.0, "id": 1, "result": {}}, 'it has no "jsonrpc": "2.0"'),
        ({"jsonrpc": "2.0", "id": True, "result": {}}, "its id is neither a string nor an integer"),
        ({"jsonrpc": "2.0", "id": None, "result": {}}, "its id is neither a string nor an integer"),
        ({"jsonrpc": "2.0", "method": 7}, "its method is not a string"),
        ({"jsonrpc": "2.0", "method": "x", "params": []}, "its params are not an object"),
        ({"jsonrpc": "2.0", "method": "x", "result": {}}, "it has a method and a result"),
        ({"jsonrpc": "2.0", "result": {}}, "it has neither a method nor an id"),
        ({"jsonrpc": "2.0", "id": 1}, "it has neither result and error"),
        ({"jsonrpc": "2.0", "id": 1, "result": {}, "error": ERROR}, "it has both result and error"),
        ({"jsonrpc": "2.0", "id": 1, "error": "no"}, "its error has no message"),
        ({"jsonrpc": "2.0", "id": 1, "error": {**ERROR, "code": "1"}}, NO_CODE),
        ({"jsonrpc": "2.0", "id": 1, "error": {**ERROR, "code": True}}, NO_CODE),
    ],
)
def test_json_rpc_comes_first(message: Any, fault: str) -> None:
    """F-SHOW-14: such a message is judged no further, and still answers its request."""
    talk = Conversation("2025-11-25")
    talk.begin("ping")
    asked, found = talk.judge.received(message)
    assert [(each.code, each.text) for each in found] == [("not-json-rpc", fault)]
    is_answer = isinstance(message, dict) and message.get("id") is not True
    assert (asked is not None) == (is_answer and message.get("id") == 1)


def test_the_entries_of_a_list_by_themselves() -> None:
    """F-SHOW-14: the catalog has the same faults as the wire."""
    tools = [{"name": "a", "inputSchema": OBJECT}, 7, {"name": "a", "inputSchema": {"type": 7}}]
    found = entry_faults("tools", tools, "2025-11-25")
    assert [(index, each.text) for index, each in found] == [
        (1, "the entry: 7 is not an object"),
        (2, "inputSchema.type: 7 is not a string"),
        (2, "inputSchema.type: 7 is not 'object'"),
        (2, "name: another entry has it as well"),
    ]
    assert [each.code for each in schema_faults(tools[2], "2025-11-25")] == ["tool-schema"]
    assert list(schema_faults(7, "2025-11-25")) == []
