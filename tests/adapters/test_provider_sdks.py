"""The adapters and the providers' own SDKs against servers that answer as the APIs do.

These need ``anthropic``, ``openai``, ``google-genai`` and ``botocore``, and are skipped without.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import mcpclient
from mcpclient.adapters.providers import PROVIDERS, sampling_model
from mcpclient.client.answers.answerers import SamplingAnswerer
from mcpclient.protocol.types import CallToolResult, Tool
from tests.adapters.loops import LOOPS, STREAMED
from tests.adapters.model_apis import APIS, Api, Script
from tests.adapters.outcomes import OUTCOMES
from tests.adapters.shapes import SHAPES, tool
from tests.support.http_server import HttpServer
from tests.support.requirements import required

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

DEMO = Path(__file__).parents[2] / "mcpclient" / "testing" / "demo_server.py"

each_provider = pytest.mark.parametrize("provider", PROVIDERS)
Clients = dict[str, Callable[[str], Any]]


def anthropic_client(url: str) -> Any:
    sdk = required("anthropic")
    return sdk.AsyncAnthropic(api_key="k", base_url=url, max_retries=0)


def openai_client(url: str) -> Any:
    sdk = required("openai")
    return sdk.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0)


def google_client(url: str) -> Any:
    sdk = required("google.genai")
    return sdk.Client(api_key="k", http_options={"base_url": url})


def bedrock_client(url: str) -> Any:
    session = required("botocore.session").get_session()
    session.set_credentials("a", "k")
    config = required("botocore.config").Config(retries={"max_attempts": 1})
    return session.create_client(
        "bedrock-runtime", region_name="us-east-1", endpoint_url=url, config=config
    )


CLIENTS: Clients = {
    "anthropic": anthropic_client,
    "openai_chat": openai_client,
    "openai_responses": openai_client,
    "google": google_client,
    "bedrock": bedrock_client,
}


@asynccontextmanager
async def model(provider: str, script: Script) -> AsyncIterator[tuple[Any, Api]]:
    """The SDK's client, and the API it talks to."""
    api: Api = APIS[provider](script)
    async with HttpServer({"POST": api.handle}) as server:
        llm = CLIENTS[provider](f"http://{server.url().authority}")
        try:
            yield llm, api
        finally:
            await closed(llm)


async def closed(llm: Any) -> None:
    if hasattr(llm, "aio"):
        await llm.aio.aclose()
    result = llm.close()
    if result is not None:
        await result


ADD: Script = [[("add", {"a": 1, "b": 2}), ("fail", {"reason": "no"}), ("nope", {})], "It is 3."]


@each_provider
async def test_an_agent_with_a_real_server(provider: str) -> None:
    """F-TOOL-7: ten lines; parallel calls, a tool that fails and one that does not exist."""
    async with model(provider, list(ADD)) as (llm, api):  # noqa: SIM117
        async with mcpclient.connect([sys.executable, str(DEMO)]) as client:
            assert await LOOPS[provider](llm, client, "1 + 2?") == "It is 3."
    (first, added), (second, failed), (third, unknown) = api.results
    assert (first, second, third) == ("call_0", "call_1", "call_2")
    assert "3" in added
    assert failed.lstrip("!").removeprefix("Tool error: ") != failed
    assert "there is no tool 'nope'" in unknown


@each_provider
async def test_search_and_functions_of_ones_own(provider: str) -> None:
    """F-TOOL-9: the services take the definitions, which are the same in every request."""

    def shout(word: str) -> str:
        """Say it loudly."""
        return word.upper()

    class Searching:
        def __init__(self, client: mcpclient.Client) -> None:
            self.client = client

        async def toolbox(self, provider: str) -> Any:
            return await self.client.toolbox(provider, search=True, functions=[shout], strict=True)

    calls = [("call_tool", {"name": "add", "arguments": {"a": 1, "b": 2}})]
    script: Script = [
        [("search_tools", {"query": "add the numbers"})],
        [*calls, ("shout", {"word": "hi"})],
        calls,
        "done",
    ]
    async with model(provider, script) as (llm, api):  # noqa: SIM117
        async with mcpclient.connect([sys.executable, str(DEMO)]) as client:
            assert await LOOPS[provider](llm, Searching(client), "1 + 2?") == "done"
    found, added, shouted, again = dict(api.results).values()
    assert '"name": "add"' in found
    assert (added, shouted, again) == ("3", "HI", "3")
    assert (
        len({json.dumps(body.get("tools", body.get("toolConfig"))) for body in api.requests}) == 1
    )
    assert len(api.requests) == 4


@pytest.mark.needs_landlock
@each_provider
async def test_code_that_the_model_writes(provider: str) -> None:
    """F-CODE-1: two tools, and Python that calls the others."""

    class Coding:
        def __init__(self, client: mcpclient.Client) -> None:
            self.client = client

        async def toolbox(self, provider: str) -> Any:
            sandbox = mcpclient.Sandbox(network=False, memory="512M")
            mode = mcpclient.CodeMode(sandbox=sandbox, seconds=30)
            return await self.client.toolbox(provider, code=mode, strict=True)

    code = "sum(tools.add(a=n, b=n)['sum'] for n in range(5))"
    script: Script = [
        [("search_tools", {"query": "add numbers"})],
        [("run_python", {"code": code}), ("run_python", {"code": "tools.fail(reason='no')"})],
        [("add", {"a": 1, "b": 2})],
        "It is 20.",
    ]
    async with model(provider, script) as (llm, api):  # noqa: SIM117
        async with mcpclient.connect([sys.executable, str(DEMO)]) as client:
            assert await LOOPS[provider](llm, Coding(client), "2 * 10?") == "It is 20."
    found, summed, failed, _ = dict(api.results).values()
    assert "tools.add(a: float, b: float) -> AddResult" in found
    assert summed == "20\n"
    assert "ToolError: " in failed


def test_a_stream_and_a_limit_of_turns() -> None:
    """F-TOOL-10: text is shown as it comes, and a model that goes round in circles has to end."""

    async def talk(script: Script, turns: int) -> tuple[list[Any], str]:
        shown: list[str] = []
        async with model("anthropic", script) as (llm, _):  # noqa: SIM117
            async with mcpclient.connect([sys.executable, str(DEMO)]) as client:
                messages = await STREAMED(llm, client, "1 + 2?", show=shown.append, turns=turns)
        return messages, "".join(shown)

    messages, shown = asyncio.run(talk(list(ADD), 10))
    assert shown == "It is 3."
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant"]
    circles: Script = [[("add", {"a": 1, "b": 2})], [("add", {"a": 1, "b": 2})], "enough"]
    messages, shown = asyncio.run(talk(circles, 3))
    assert (shown, len(messages)) == ("enough", 6)


@each_provider
async def test_a_model_that_ends_without_a_word(provider: str) -> None:
    """F-TOOL-7: as models do after a result that says it all."""
    script: Script = [[("outcome_0", {})], ""]
    async with model(provider, script) as (llm, _):
        assert not await LOOPS[provider](llm, Everything(), "go")


class Everything:
    """A source with a tool of every shape, whose calls come to every outcome."""

    tools_are_stale = False

    async def list_tools(self) -> list[Tool]:
        return [
            tool(schema, f"tool {number}", description=name)
            for number, (name, (schema, _)) in enumerate(SHAPES.items())
        ] + [tool({}, f"outcome_{number}") for number in range(len(OUTCOMES))]

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any
    ) -> CallToolResult:
        outcome = list(OUTCOMES.values())[int(name.rpartition("_")[2])]
        if isinstance(outcome, BaseException):
            raise outcome
        assert outcome is not None
        return outcome

    def toolbox(self, provider: str) -> Any:
        from mcpclient.adapters.toolbox import Toolbox

        source: Any = self
        return Toolbox(source, provider)

    async def list_resources(self) -> list[Any]:
        return []

    async def list_resource_templates(self) -> list[Any]:
        return []

    async def read_resource(self, uri: str, /, **options: Any) -> Any:
        raise NotImplementedError


@each_provider
async def test_every_schema_and_every_outcome(provider: str) -> None:
    """F-TOOL-1, F-TOOL-3: the service takes all of it, and gets the tools' results."""
    calls: Script = [[(f"outcome_{number}", {}) for number in range(len(OUTCOMES))], "done"]
    async with model(provider, calls) as (llm, api):
        assert await LOOPS[provider](llm, Everything(), "go") == "done"
    said = dict(zip(OUTCOMES, (text for _, text in api.results)))
    assert said["text"] == "one\ntwo"
    assert said["nothing"] == "[no output]"
    assert said["structured beside its text"] == '{"n": 1}'
    assert "<image>" in "".join(text for _, text in api.results)
    assert "disk full" in said["an error"]
    assert said["embedded text"] == "[resource file:///a/b.pdf]\ninside"
    assert "199,999" not in said["long"] and "100,000 characters left out" in said["long"]


def test_a_turn_that_anthropic_pauses() -> None:
    """F-TOOL-7: where its own search takes long, the same conversation is sent once more."""
    replies = [
        SimpleNamespace(
            content=[], stop_reason="pause_turn", model_dump=lambda **_: {"content": []}
        ),
        SimpleNamespace(
            content=[SimpleNamespace(type="text", text="found")], stop_reason="end_turn"
        ),
    ]

    async def create(**request: Any) -> Any:
        return replies.pop(0)

    llm = SimpleNamespace(messages=SimpleNamespace(create=create))
    assert asyncio.run(LOOPS["anthropic"](llm, Everything(), "go")) == "found"


CREATE: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "anthropic": lambda llm: llm.messages.create,
    "openai_chat": lambda llm: llm.chat.completions.create,
    "openai_responses": lambda llm: llm.responses.create,
    "google": lambda llm: llm.aio.models.generate_content,
    "bedrock": lambda llm: partial(asyncio.to_thread, llm.converse),
}
ASKED = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "weather?"}}],
    "maxTokens": 64_000,
    "temperature": 0.7,
    "stopSequences": ["\n\n", "END"],
    "tools": [{"name": "weather.now", "inputSchema": {"properties": {"in": {"type": "string"}}}}],
}


@each_provider
async def test_a_server_that_asks_the_model(provider: str) -> None:
    """F-API-11: a call of a tool the server has, and after its result the answer."""
    script: Script = [[("weather_now", {"in": "Rome"})], "sunny"]
    async with model(provider, script) as (llm, api):
        option = sampling_model(provider, "model-1", CREATE[provider](llm))
        answerer = SamplingAnswerer(option)
        first = await answerer.answer(ASKED, "server")
        use = first["content"]
        assert (use["name"], use["input"]) == ("weather.now", {"in": "Rome"})
        result = {"type": "tool_result", "toolUseId": use["id"], "content": []}
        answer = {**result, "structuredContent": {"sky": "blue"}}
        messages = [
            *ASKED["messages"],  # type: ignore[misc]
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [answer]},
        ]
        second = await answerer.answer({**ASKED, "messages": messages}, "server")
        assert second["content"]["text"] == "sunny"
        assert second["stopReason"] == "endTurn"
        assert api.results == [("call_0", '{"sky": "blue"}')]


async def anthropic_stream(llm: Any, **request: Any) -> Any:
    async with llm.messages.stream(model="model-1", max_tokens=9, **request) as stream:
        return await stream.get_final_message()


async def openai_chat_stream(llm: Any, **request: Any) -> Any:
    async with llm.chat.completions.stream(model="model-1", **request) as stream:
        return await stream.get_final_completion()


async def openai_responses_stream(llm: Any, **request: Any) -> Any:
    async with llm.responses.stream(model="model-1", **request) as stream:
        return await stream.get_final_response()


async def google_stream(llm: Any, **request: Any) -> Any:
    """The SDK gives the pieces of a stream; their parts together are the answer."""
    parts: list[Any] = []
    stream = llm.aio.models.generate_content_stream(model="model-1", **request)
    async for piece in await stream:
        parts += piece.candidates[0].content.parts
    return {"role": "model", "parts": parts}


async def bedrock_stream(llm: Any, **request: Any) -> Any:
    """botocore gives the events of a stream; the strings of a call, joined, are its input."""
    response = await asyncio.to_thread(llm.converse_stream, modelId="model-1", **request)
    blocks: dict[int, dict[str, Any]] = {}
    for event in response["stream"]:
        if "contentBlockStart" in event:
            start = event["contentBlockStart"]
            blocks[start["contentBlockIndex"]] = {**start["start"]["toolUse"], "input": ""}
        if "contentBlockDelta" in event:
            delta = event["contentBlockDelta"]
            blocks[delta["contentBlockIndex"]]["input"] += delta["delta"]["toolUse"]["input"]
    return {"role": "assistant", "content": [{"toolUse": block} for block in blocks.values()]}


STREAMS: dict[str, Callable[..., Awaitable[Any]]] = {
    "anthropic": anthropic_stream,
    "openai_chat": openai_chat_stream,
    "openai_responses": openai_responses_stream,
    "google": google_stream,
    "bedrock": bedrock_stream,
}


def question(provider: str, tools: Any) -> dict[str, Any]:
    if provider == "google":
        contents = [{"role": "user", "parts": [{"text": "go"}]}]
        return {"contents": contents, "config": {"tools": tools}}
    if provider == "bedrock":
        messages = [{"role": "user", "content": [{"text": "go"}]}]
        return {"messages": messages, "toolConfig": {"tools": tools}}
    key = "input" if provider == "openai_responses" else "messages"
    return {key: [{"role": "user", "content": "go"}], "tools": tools}


@each_provider
async def test_streamed_calls(provider: str) -> None:
    """F-TOOL-2: what the SDK has put together out of a stream is read like any response."""
    schema, _ = SHAPES["plain"]
    tools = PROVIDERS[provider].tools([tool(schema, "one.two"), tool(schema, "three")])
    arguments = {"a": "a long text that comes in many pieces: é"}
    script: Script = [[("one_two", arguments), ("three", {"a": ""})]]
    async with model(provider, script) as (llm, _):
        response = await STREAMS[provider](llm, **question(provider, tools))
        calls = PROVIDERS[provider].calls(response, tools)
        assert [(call.id, call.name, call.arguments) for call in calls] == [
            ("call_0", "one.two", arguments),
            ("call_1", "three", {"a": ""}),
        ]
