"""F-API-18: handlers run in worker threads, may block, and may call the client."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import threading
from collections.abc import Mapping
from typing import Any, Callable

import pytest

import mcpclient
from mcpclient import (
    BearerToken,
    Call,
    CallToolResult,
    Client,
    Elicitation,
    ElicitationRequest,
    Hooks,
    OAuth,
    Progress,
    Sampling,
    SamplingModel,
    SamplingRequest,
    sync,
)
from mcpclient.client.events.around import Proceed
from mcpclient.sync.handlers import HANDLERS, call_in_worker, in_worker, with_workers
from tests.sync.calling import Json, ToolServer, beginning, thread_name

WORKER = "mcpclient-handler"
LOOP = "mcpclient"
FORM = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
CHAT = {"messages": [], "maxTokens": 1}


class AskingServer(ToolServer):
    """Its tool ``ask`` asks the client something, and answers with the client's answer."""

    def __init__(self, method: str, params: Json) -> None:
        super().__init__(ask=self._ask)
        self._question = (method, params)

    async def _ask(self, arguments: Json) -> Any:
        method, params = self._question
        return (await self.ask(1, method, **params)).get("result")


def test_elicitation_may_block_and_call_the_client() -> None:
    """F-API-10: ``input()`` in it blocks nobody, and a nested call is answered."""
    threads: list[str] = []

    def answer(request: ElicitationRequest) -> dict[str, Any]:
        threads.append(thread_name())
        assert client.call_tool("echo", {"message": "from inside"}).text == "from inside"
        entered.wait(5)
        return {}

    entered = threading.Event()
    server = AskingServer("elicitation/create", FORM)
    with server.connected(elicitation=answer) as client:
        asked = client.submit("call_tool", "ask")
        assert client.call_tool("echo", {"message": "meanwhile"}).text == "meanwhile"
        entered.set()
        assert "accept" in asked.result(5).text
    assert threads == [WORKER]


def test_a_handler_that_is_asked_while_another_one_waits() -> None:
    """F-API-10: a handler's own call may lead to the same handler."""
    depth: list[int] = []

    def answer(request: ElicitationRequest) -> bool:
        depth.append(len(depth))
        return len(depth) == 3 or client.call_tool("ask").is_error is False

    server = AskingServer("elicitation/create", FORM)
    ids = iter(range(1, 10))

    async def ask(arguments: Json) -> Any:
        return (await server.ask(next(ids), "elicitation/create", **FORM))["result"]

    server.tools["ask"] = ask
    with server.connected(elicitation=answer) as client:
        assert "accept" in client.call_tool("ask").text
    assert depth == [0, 1, 2]


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


def test_progress_and_notifications_arrive_in_order_and_may_call() -> None:
    """F-API-7, F-API-20: all of them before the result, one after the other."""

    async def work(arguments: Json) -> str:
        token = server.sent("tools/call")[-1]["_meta"]["progressToken"]
        for step in range(5):
            server.notify("notifications/progress", progressToken=token, progress=step)
            server.notify("notifications/custom", step=step)
        return "done"

    steps: list[tuple[float, str, str]] = []
    heard: list[int] = []

    def progressed(progress: Progress) -> None:
        echoed = client.call_tool("echo", {"message": "x"}).text
        steps.append((progress.progress, thread_name(), echoed))

    def notified(method: str, params: Mapping[str, Any]) -> None:
        if method == "notifications/custom":
            client.call_tool("echo", {"message": "x"})
            heard.append(params["step"])
            if len(heard) == 5:
                all_heard.set()

    all_heard = threading.Event()
    server = ToolServer(work=work)
    with server.connected(on_notification=notified) as client:
        assert client.call_tool("work", on_progress=progressed).text == "done"
        assert steps == [(step, WORKER, "x") for step in range(5)]
        assert all_heard.wait(5)
    assert heard == [0, 1, 2, 3, 4]


def test_an_asynchronous_handler_runs_in_the_event_loop() -> None:
    """F-API-18: it is async because it does not block."""

    async def answer(request: ElicitationRequest) -> bool:
        threads.append(thread_name())
        return True

    threads: list[str] = []
    server = AskingServer("elicitation/create", FORM)
    with server.connected(elicitation=answer) as client:
        assert "accept" in client.call_tool("ask").text
    assert threads == [LOOP]


# Around


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
    """F-API-8, F-API-18: the server is told although a worker stands in between."""
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


# What else holds functions


def test_hooks_are_told_in_order() -> None:
    """F-API-23: nobody waits for them, and each sees one event after the other."""
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


def test_every_option_that_holds_a_function_is_known() -> None:
    """F-API-18: a new one is either moved to the workers, or listed here with the reason."""
    here_as_well = {
        "trace",  # writes the line before anything else happens
        "stderr",  # so does this
        "extensions",
        "client_info",
        "ssl_context",
    }
    records = (mcpclient.ClientOptions, mcpclient.CallOptions)
    options = [pair for record in records for pair in record.__annotations__.items()]
    words = ("Callable", "Option ", "Handler", "HeaderSource", "Around", "Hooks", "Authentication")
    holding = {name for name, kind in options if any(word in str(kind) for word in words)}
    assert holding - here_as_well <= HANDLERS.keys()
    assert {"elicitation", "sampling", "roots", "headers", "auth", "on_log"} <= holding


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


def test_a_plain_function_may_return_what_has_to_be_awaited() -> None:
    async def answer() -> str:
        return thread_name()

    with ToolServer().connected() as client:
        result = client.async_client  # begins the loop thread
        assert isinstance(result, Client)
        from mcpclient.sync.loop_thread import loop_thread

        assert loop_thread().run(in_worker(lambda: answer())()) == LOOP


# The threads in which handlers may block


async def test_handlers_that_block_do_not_wait_for_each_other() -> None:
    """F-API-18: each of ten waits for all others, which a bounded pool would never allow."""
    barrier = threading.Barrier(10)
    await asyncio.gather(*(call_in_worker(barrier.wait, 10) for _ in range(10)))


async def test_what_a_handler_returns_and_raises_comes_back() -> None:
    def fail(error: BaseException) -> None:
        raise error

    assert await call_in_worker(dict, [("a", 1)], b=2) == {"a": 1, "b": 2}
    with pytest.raises(LookupError, match="on purpose"):
        await call_in_worker(fail, LookupError("on purpose"))
    for error in (SystemExit(3), StopIteration()):
        with pytest.raises(RuntimeError, match=f"raised {type(error).__name__}"):
            await call_in_worker(fail, error)


def test_a_handler_sees_the_context_of_the_call() -> None:
    """F-API-23: spans, for example, are found there."""
    variable = contextvars.ContextVar("variable", default="")

    async def main() -> str:
        variable.set("mine")
        return str(await call_in_worker(variable.get))

    assert asyncio.run(main()) == "mine"


async def test_what_nobody_waits_for_any_more_is_dropped() -> None:
    go_on = threading.Event()
    future = call_in_worker(go_on.wait)
    future.cancel()
    left = call_in_worker(go_on.wait)
    go_on.set()
    assert await call_in_worker(int) == 0
    del left


async def test_at_the_end_of_the_interpreter_a_handler_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert call_in_worker(int).cancelled()
