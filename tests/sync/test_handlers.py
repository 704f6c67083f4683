"""F-API-18: handlers run in worker threads, may block, and may call the client."""

from __future__ import annotations

import functools
import inspect
import threading
from typing import Any, Callable

import pytest

import mcpclient
from mcpclient import (
    BearerToken,
    Call,
    CallToolResult,
    Elicitation,
    ElicitationRequest,
    Hooks,
    OAuth,
    Sampling,
    SamplingModel,
    SamplingRequest,
    sync,
)
from mcpclient.client.events.around import Proceed
from mcpclient.sync.handlers import call_in_worker, in_worker, with_workers
from tests.sync.calling import Json, ToolServer, beginning, thread_name

WORKER = "mcpclient-handler"
LOOP = "mcpclient"
CHAT = {"messages": [], "maxTokens": 1}


class AskingServer(ToolServer):
    """Its tool ``ask`` asks the client something, and answers with the client's answer."""

    def __init__(self, method: str, params: Json) -> None:
        super().__init__(ask=self._ask)
        self._question = (method, params)

    async def _ask(self, arguments: Json) -> Any:
        method, params = self._question
        return (await self.ask(1, method, **params)).get("result")


@pytest.mark.parametrize("kind", ["function", "Sampling", "SamplingModel", "mapping"])
def test_sampling_in_each_of_its_forms(kind: str) -> None:
    """F-API-11: a model that is called over a blocking library."""

    def answer(request: SamplingRequest) -> str:
        return thread_name()

    def complete(messages: list[Json], options: Json) -> str:
        return thread_name()

    sampling: Any = {
        "function": answer,
        "Sampling": Sampling(answer, tools=True),
        "SamplingModel": SamplingModel("m", complete),
        "mapping": {"model": "m", "complete": complete},
    }[kind]
    server = AskingServer("sampling/createMessage", CHAT)
    with server.connected(sampling=sampling) as client:
        assert WORKER in client.call_tool("ask").text


def test_roots_may_be_replaced_by_a_blocking_function() -> None:
    """F-API-10: also as an argument that has no name."""
    server = AskingServer("roots/list", {})

    def roots() -> list[str]:
        return [f"file:///{thread_name()}"]

    with server.connected(roots=[]) as client:
        client.set_roots(roots)
        assert "file:///mcpclient-handler" in client.call_tool("ask").text


def test_a_plain_around_hook_calls_and_blocks() -> None:
    """F-API-23: ``proceed`` blocks in it; it may change the call and call others."""
    threads: list[str] = []

    def loud(call: Call, proceed: Callable[[Call], CallToolResult]) -> CallToolResult:
        threads.append(thread_name())
        message = client.call_tool("echo", {"message": "A"}, around=[quiet]).text
        arguments = {"message": message + call.arguments["message"]}
        return proceed(mcpclient.Call(call.server, "echo", "echo", arguments))

    async def quiet(call: Call, proceed: Proceed) -> CallToolResult:
        threads.append(thread_name())
        return await proceed(call)

    plain = ToolServer().connected()
    client = plain
    with sync.connect(ToolServer().transport(), around=[loud]) as hooked:
        assert hooked.call_tool("echo", {"message": "B"}).text == "AB"
    plain.close()
    assert threads == [WORKER, LOOP]


def test_a_plain_around_hook_may_refuse_or_raise() -> None:
    def refuse(call: Call, proceed: Any) -> CallToolResult:
        if call.arguments:
            raise LookupError("no such thing")
        return mcpclient.refusal("no")

    server = ToolServer()
    with server.connected(around=[refuse]) as client:
        assert client.call_tool("echo").text == "no"
        with pytest.raises(LookupError, match="no such thing"):
            client.call_tool("echo", {"message": "x"})
    assert not server.sent("tools/call")


def test_cancelling_reaches_through_a_plain_around_hook() -> None:
    """F-API-8, F-API-18: the server is notified although a worker stands in between."""
    began, ended = threading.Event(), threading.Event()

    def pass_on(call: Call, proceed: Any) -> CallToolResult:
        try:
            result: CallToolResult = proceed(call)
            return result
        finally:
            ended.set()

    server = ToolServer()
    server.tools["begin"] = beginning(began)
    with server.connected() as client:
        future = client.submit("call_tool", "begin", around=[pass_on])
        assert began.wait(5)
        future.cancel()
        assert ended.wait(5)
        client.call_tool("echo", {"message": "x"})
        assert len(server.sent("notifications/cancelled")) == 1


def test_asking_for_approval_may_block() -> None:
    """F-API-23: `sync.ask_unless_read_only` with an ``input()``."""

    def ask(call: Call) -> bool:
        return thread_name() == WORKER

    with ToolServer().connected(around=[sync.ask_unless_read_only(ask)]) as client:
        assert client.call_tool("echo", {"message": "x"}).text == "x"


def test_hooks_are_told_in_order() -> None:
    """F-API-23: no call waits for them, and each sees one event after the other."""
    told: list[tuple[str, str]] = []
    all_told = threading.Event()

    def called(**facts: Any) -> None:
        told.append((facts["trace"], thread_name()))
        if len(told) == 3:
            all_told.set()

    with ToolServer().connected(hooks=Hooks(on_tool_call=called)) as client:
        for number in "abc":
            client.call_tool("echo", {"message": "x"}, trace=number)
        assert all_told.wait(5)
    assert told == [(number, WORKER) for number in "abc"]


def test_records_keep_what_is_no_function() -> None:
    def answer(request: ElicitationRequest) -> bool:
        return True

    options: dict[str, Any] = with_workers(
        {
            "elicitation": Elicitation(form=answer, url=None),
            "auth": BearerToken(lambda: "secret"),
            "headers": {"a": "b"},
            "hooks": None,
            "roots": None,
            "timeout": 3,
        }
    )
    assert options["elicitation"].form is not answer and options["elicitation"].url is None
    assert inspect.iscoroutinefunction(options["auth"].token)
    assert options["headers"] == {"a": "b"} and options["timeout"] == 3
    assert options["hooks"] is None and options["roots"] is None
    plain = OAuth(client_id="x")
    assert with_workers({"auth": plain})["auth"] is plain
    assert with_workers({"auth": "token"})["auth"] == "token"


def test_what_is_asynchronous_is_left_alone() -> None:
    class Answer:
        async def __call__(self, request: object) -> bool:
            return True

    async def answer(prefix: str, request: object) -> bool:
        return True

    for function in (answer, functools.partial(answer, "x"), Answer(), Answer().__call__):
        assert in_worker(function) is function


async def test_what_a_handler_returns_and_raises_comes_back() -> None:
    def fail(error: BaseException) -> None:
        raise error

    assert await call_in_worker(dict, [("a", 1)], b=2) == {"a": 1, "b": 2}
    with pytest.raises(LookupError, match="on purpose"):
        await call_in_worker(fail, LookupError("on purpose"))
    for error in (SystemExit(3), StopIteration()):
        with pytest.raises(RuntimeError, match=f"raised {type(error).__name__}"):
            await call_in_worker(fail, error)


async def test_at_the_end_of_the_interpreter_a_handler_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert call_in_worker(int).cancelled()
