"""Requests of a server to the client, and output other than messages."""

from __future__ import annotations

from typing import Any

from conformance.capture.collection.parts import (
    ANSWERED_FORM,
    EVERYTHING_DECLARED,
    FOLDER,
    MODEL_ANSWER,
)
from conformance.capture.collection.reactions.parts import (
    ANSWER,
    HELLO,
    PING,
    USUAL,
    Await,
    Plan,
    Reaction,
    Reply,
    asked,
    reaction,
    stream,
    told,
)
from conformance.capture.collection.reactions.stateless import READ, USER, WHO, stateless
from conformance.scripts import Step

_FORM = {
    "message": "Who are you?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
_STRICT = {
    "message": "How many?",
    "requestedSchema": {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 3}},
        "required": ["n"],
    },
}
_RAIN = {"role": "user", "content": {"type": "text", "text": "Is it raining?"}}
_MODEL = {"messages": [_RAIN], "maxTokens": 100}
_CLIENT: dict[str, Any] = {
    "capabilities": EVERYTHING_DECLARED,
    "elicitation": [ANSWERED_FORM],
    "sampling": [MODEL_ANSWER],
    "roots": [FOLDER],
}


def _asks(name: str, clause: str, *questions: Any, **client: Any) -> Reaction:
    """Return a session in whose calls the server asks one thing each, and wants an answer."""
    replies = tuple(
        stream(question, Await("answer", number), ANSWER)
        for number, question in enumerate(questions, 1)
    )
    steps = [HELLO] * len(replies)
    plan = Plan({"tools/call": replies})
    members = {"transports": "stdio http", "client": {**_CLIENT, **client}}
    # Over stdio the lines of a stream are written as they are.
    return reaction(f"asks-{name}", clause, plan, *steps, PING, **members)


def _asks_in_one_call(name: str, clause: str, *events: Any, **client: Any) -> Reaction:
    plan = Plan({"tools/call": (stream(*events, ANSWER), USUAL)})
    members = {"transports": "stdio http", "client": {**USER, **client}}
    return reaction(f"asks-{name}", clause, plan, HELLO, HELLO, **members)


_ILL = (
    "JSON-RPC 2.0, 5.1: -32600 for what is not a request, -32601 for an unknown method, -32602 for "
    "invalid params."
)
_IDS = "JSON-RPC 2.0, 4: an id names a request until it is answered, or cancelled."
_CODES = "JSON-RPC 2.0, 5.1: an error has a code, a message, and data that its maker decides."
WHO_IS_IT = asked(7, "elicitation/create", **WHO["params"])


def _in_a_session(
    name: str, clause: str, replies: dict[str, tuple[Reply, ...]], *steps: Step, **members: Any
) -> Reaction:
    return reaction(name, clause, Plan(replies), *steps, **members)


_STOPS: dict[str, tuple[Any, Reply]] = {
    "": (_in_a_session, stream(WHO_IS_IT, Await("answer"), ANSWER)),
    "-statelessly": (
        stateless,
        Reply(result={"resultType": "input_required", "inputRequests": {"who": WHO}}),
    ),
}


SESSIONS: tuple[Reaction, ...] = (
    _asks(
        "everything",
        "Sampling, elicitation, roots and ping: what is declared is answered, by its id.",
        asked(7, "elicitation/create", **_FORM),
        asked("q", "sampling/createMessage", **_MODEL),
        asked(0, "roots/list"),
        asked(-1, "ping"),
    ),
    _asks(
        "what-is-ill-formed",
        _ILL,
        asked(7, "no/such"),
        asked(8, "elicitation/create"),
        asked(9, "sampling/createMessage", messages="none", maxTokens=1),
        {"jsonrpc": "2.0", "id": 10, "method": "ping", "params": [1]},
        {"jsonrpc": "2.0", "id": 11, "method": 1},
        asked(12, "elicitation/create", mode="smoke", message="?"),
        asked(13, "elicitation/create", message=5, requestedSchema={}),
        asked(14, "sampling/createMessage", messages=[{"role": "nobody"}], maxTokens=1),
        asked(15, "tasks/get", taskId="none"),
    ),
    _asks(
        "what-does-not-fit",
        "Elicitation: clients SHOULD validate answers by the schema; MUST NOT open unsafe URLs.",
        asked(7, "elicitation/create", **_STRICT),
        asked(
            8,
            "elicitation/create",
            mode="url",
            message="Go",
            elicitationId="e",
            url="javascript:alert(1)",
        ),
        elicitation=[{"action": "accept", "content": {"n": 1}}],
    ),
    _asks(
        "a-user-who-declines",
        "Elicitation, Response Actions: decline and cancel are told apart. Sampling: the user may "
        "say no.",
        asked(7, "elicitation/create", **_FORM),
        asked(8, "elicitation/create", **_FORM),
        asked(9, "sampling/createMessage", **_MODEL),
        elicitation=[{"action": "decline"}, {"action": "cancel"}],
        sampling=[{"error": {"code": -1, "message": "User rejected sampling request"}}],
    ),
    reaction(
        "asks-twice-with-one-id",
        "JSON-RPC 2.0, 4: an id tells requests apart that wait.",
        Plan(
            {
                "tools/call": (
                    stream(
                        asked(7, "elicitation/create", **_FORM),
                        asked(7, "elicitation/create", **_FORM),
                        Await("answer"),
                        ANSWER,
                    ),
                    USUAL,
                )
            }
        ),
        HELLO,
        PING,
        client=_CLIENT,
    ),
    reaction(
        "says-what-is-unknown",
        "JSON-RPC 2.0, 4.1: notifications are not answered; Cancellation: unknown ids are ignored.",
        Plan(
            {
                "tools/call": (
                    stream(
                        told("notifications/no/such", at=1),
                        told("notifications/cancelled", requestId=7, reason="never mind"),
                        told("notifications/cancelled"),
                        told("notifications/progress", progressToken="nobody", progress=1),
                        told("notifications/message", level=5),
                        told("notifications/elicitation/complete", elicitationId="none"),
                        {"jsonrpc": "2.0", "id": None, "method": "ping"},
                        {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "?"}},
                        {"jsonrpc": "2.0", "id": 99, "result": {}},
                        {"jsonrpc": "1.0", "method": "notifications/odd"},
                        ANSWER,
                    ),
                    USUAL,
                )
            }
        ),
        HELLO,
        PING,
        transports="stdio http",
    ),
    reaction(
        "reports-progress",
        "Progress: tokens name the request; what comes after the answer is ignored.",
        Plan(
            {
                "tools/call": (
                    stream(
                        told(
                            "notifications/progress", progressToken="{token}", progress=1, total=2
                        ),
                        told("notifications/progress", progressToken="{token}", progress="most"),
                        told("notifications/progress", progressToken="{token}", progress=0.5),
                        told(
                            "notifications/progress",
                            progressToken="{token}",
                            progress=2,
                            message="x",
                        ),
                        ANSWER,
                        told("notifications/progress", progressToken="{token}", progress=3),
                    ),
                )
            }
        ),
        {**HELLO, "progress": True},
        HELLO,
        transports="stdio http",
    ),
    reaction(
        "chats-on-stdout",
        "stdio: the server MUST NOT write anything to stdout that is not a message.",
        Plan(
            {
                "initialize": (Reply(events=("starting …\n", "\n", "{not json}\n", ANSWER)),),
                "tools/call": (
                    Reply(events=("still here\n", "[]\n", "still here\n", "5\r\n", ANSWER)),
                    Reply(events=('{"jsonrpc":"2.0","id":3,"result":\n', "\n")),
                ),
            }
        ),
        HELLO,
        HELLO,
        PING,
        transports="stdio",
    ),
    reaction(
        "cancels-what-it-asks",
        "Cancellation: the receiver SHOULD stop, and not send a response; unknown ids are ignored.",
        Plan(
            {
                "tools/call": (
                    stream(
                        WHO_IS_IT,
                        {**WHO_IS_IT, "id": "7"},
                        told("notifications/cancelled", requestId="8"),
                        told("notifications/cancelled", requestId=7.5),
                        told("notifications/cancelled", requestId=7, reason=5),
                        asked(9, "ping"),
                        told("notifications/cancelled", requestId="7", reason="enough"),
                        Await("answer"),
                        ANSWER,
                    ),
                    USUAL,
                )
            }
        ),
        HELLO,
        PING,
        transports="stdio http",
        client={**USER, "elicitation": [{"never": True}]},
    ),
    reaction(
        "asks-for-all-kinds",
        "Elicitation, Sampling, Roots: what was declared is answered; defaults fill what is left.",
        Plan(
            {
                "tools/call": tuple(
                    stream(question, Await("answer", number), ANSWER)
                    for number, question in enumerate(
                        (
                            asked(1, "elicitation/create", message="?", mode="form"),
                            asked(
                                2,
                                "elicitation/create",
                                message="?",
                                requestedSchema={
                                    "type": "object",
                                    "properties": {
                                        "name": {"type": "string"},
                                        "age": {"type": "integer", "default": 5},
                                    },
                                    "required": ["name", "age"],
                                },
                            ),
                            asked(
                                3,
                                "elicitation/create",
                                message="?",
                                requestedSchema={
                                    "type": "object",
                                    "properties": {"name": {"type": "string", "maxLength": 2}},
                                },
                            ),
                            asked(
                                4,
                                "elicitation/create",
                                message="?",
                                requestedSchema={
                                    "type": "object",
                                    "properties": {"other": {"type": "string"}},
                                    "required": ["other"],
                                },
                            ),
                            asked(
                                5, "elicitation/create", message="?", requestedSchema={"type": 5}
                            ),
                            asked(
                                6, "elicitation/create", mode="url", message="Go", url="https://a"
                            ),
                            asked(7, "roots/list", _meta={"a": 1}),
                            asked(8, "tasks/get", taskId="none"),
                            asked(9, "ping", task={}),
                        ),
                        1,
                    )
                )
            }
        ),
        *[HELLO] * 9,
        transports="stdio",
        client=USER,
    ),
    *(
        make(
            f"asks-a-user-who-stops{name}",
            "JSON-RPC 2.0, 5.1: -32603 where the client's own function fails.",
            {"tools/call": (reply, USUAL)},
            HELLO,
            HELLO,
            transports="stdio http",
            client={**USER, "elicitation": [{"stops": True}]},
        )
        for name, (make, reply) in _STOPS.items()
    ),
    stateless(
        "asks-what-is-ill-formed-statelessly",
        "Patterns: servers send no requests; clients send no responses, not even errors.",
        {
            "tools/call": (
                stream(
                    {"jsonrpc": "2.0", "id": 10, "method": "ping", "params": [1]},
                    {"jsonrpc": "2.0", "id": 11, "method": 1},
                    asked(12, "ping"),
                    ANSWER,
                ),
                USUAL,
            )
        },
        HELLO,
        HELLO,
    ),
    stateless(
        "wants-input-in-turn",
        "MRTR: each retry has the answers to the last request, and the state that came with it.",
        {
            "tools/call": (
                Reply(result={"resultType": "input_required", "inputRequests": {"who": WHO}}),
                Reply(result={"resultType": "input_required", "requestState": "one"}),
                Reply(
                    result={
                        "resultType": "input_required",
                        "inputRequests": {"at": {"method": "roots/list"}},
                        "requestState": "two",
                    }
                ),
                USUAL,
            ),
            "resources/read": (
                Reply(result={"resultType": "input_required", "inputRequests": {"who": WHO}}),
                USUAL,
            ),
        },
        {**HELLO, "meta": {"com.example/a": 1}},
        READ,
        client={**USER, "capabilities": EVERYTHING_DECLARED},
    ),
    _asks_in_one_call(
        "by-an-id-that-is-free-again",
        _IDS,
        WHO_IS_IT,
        Await("answer"),
        WHO_IS_IT,
        Await("answer", 2),
        asked(7, "ping"),
        Await("answer", 3),
    ),
    _asks_in_one_call(
        "again-what-it-has-cancelled",
        _IDS,
        WHO_IS_IT,
        told("notifications/cancelled", requestId=7, reason="no more"),
        asked(7, "ping"),
        Await("answer"),
        elicitation=[{"never": True}],
    ),
    _asks_in_one_call(
        "a-user-whose-function-has-a-code",
        _CODES,
        WHO_IS_IT,
        Await("answer"),
        asked(8, "sampling/createMessage", messages=[], maxTokens=1),
        Await("answer", 2),
        capabilities=EVERYTHING_DECLARED,
        elicitation=[{"refuses": {"code": -32050, "message": "No", "data": {"a": [1]}}}],
        sampling=[{"refuses": {"code": -1, "message": "No"}}],
    ),
)
