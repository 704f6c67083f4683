"""The recipes of the guide for agent frameworks, in the real ones, each with a fake model.

``python -m conformance.hosts.agents SERVER [NAME ...]``, in the environment ``agents``. The model
asks for a sum and repeats the result; so it has to be shown the tool's schema, and to get the
result.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from typing import Any, Callable

import mcpclient
from mcpclient.cli.help import chapter

QUESTION = "What is 1 + 2?"
ARGUMENTS = {"a": 1, "b": 2}
_RECIPE = re.compile(r"^<!-- recipe -->\n```python\n(.*?)^```$", re.M | re.S)

# No telemetry is sent.
os.environ.update(OPENAI_AGENTS_DISABLE_TRACING="1", LANGSMITH_TRACING="false", DO_NOT_TRACK="1")


def recipes() -> dict[str, Any]:
    """Return the functions of the guide, by the name of the framework."""
    defined: dict[str, Any] = {}
    for text in _RECIPE.findall(chapter("models")):
        exec(text, defined)
    return {name: defined[name] for name in MODELS}


def check(schema: Any) -> None:
    """Fail where a model is not shown the schema of ``add`` as the server has it."""
    assert set(schema["properties"]) == {"a", "b"}, schema
    assert sorted(schema["required"]) == ["a", "b"], schema


def openai_agents() -> Any:
    """A model of the OpenAI Agents SDK."""
    from agents import Model, ModelResponse, Usage
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    class Fake(Model):  # type: ignore[misc]
        async def get_response(self, *given: Any, **named: Any) -> ModelResponse:
            conversation: Any = named.get("input", given[1] if len(given) > 1 else None)
            tools: Any = named.get("tools", given[3] if len(given) > 3 else None)
            (add,) = [tool for tool in tools if tool.name == "add"]
            check(add.params_json_schema)
            told = [item["output"] for item in conversation if "output" in item]
            output: Any = ResponseFunctionToolCall(
                arguments='{"a": 1, "b": 2}', call_id="c", name="add", type="function_call"
            )
            if told:
                text = ResponseOutputText(annotations=[], text=said(told[0]), type="output_text")
                output = ResponseOutputMessage(
                    id="m", content=[text], role="assistant", status="completed", type="message"
                )
            return ModelResponse(output=[output], usage=Usage(), response_id=None)

        def stream_response(self, *given: Any, **named: Any) -> Any:
            raise NotImplementedError

    return Fake()


def pydantic_ai() -> Any:
    """A model of Pydantic AI."""
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    def answer(messages: Any, info: Any) -> ModelResponse:
        (add,) = [tool for tool in info.function_tools if tool.name == "add"]
        check(add.parameters_json_schema)
        parts = [part for message in messages for part in message.parts]
        told = [part.content for part in parts if isinstance(part, ToolReturnPart)]
        part = TextPart(said(told[0])) if told else ToolCallPart("add", ARGUMENTS)
        return ModelResponse(parts=[part])

    return FunctionModel(answer)


def langchain() -> Any:
    """A model of LangChain."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.utils.function_calling import convert_to_openai_tool

    class Fake(BaseChatModel):  # type: ignore[misc]
        @property
        def _llm_type(self) -> str:
            return "fake"

        def bind_tools(self, tools: Any, **options: Any) -> Any:
            shown = {one["function"]["name"]: one for one in map(convert_to_openai_tool, tools)}
            check(shown["add"]["function"]["parameters"])
            return self

        def _generate(self, messages: Any, *given: Any, **options: Any) -> ChatResult:
            told = [message.content for message in messages if isinstance(message, ToolMessage)]
            call = {"name": "add", "args": ARGUMENTS, "id": "c"}
            message = AIMessage(said(told[0])) if told else AIMessage("", tool_calls=[call])
            return ChatResult(generations=[ChatGeneration(message=message)])

    return Fake()


def llama_index() -> Any:
    """A model of LlamaIndex."""
    from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
    from llama_index.core.llms.mock import MockFunctionCallingLLM

    def answer(messages: Any, **options: Any) -> ChatMessage:
        (add,) = [tool for tool in options["tools"] if tool.metadata.name == "add"]
        check(add.metadata.to_openai_tool()["function"]["parameters"])
        told = [message.content for message in messages if message.role == "tool"]
        if told:
            return ChatMessage(role="assistant", content=said(told[0]))
        call = ToolCallBlock(tool_call_id="c", tool_name="add", tool_kwargs=ARGUMENTS)
        return ChatMessage(role="assistant", blocks=[call])

    return MockFunctionCallingLLM(response_generator=answer)


def google_adk() -> Any:
    """A model of Google's Agent Development Kit."""
    from google.adk.models import BaseLlm, LlmResponse
    from google.genai.types import Content, FunctionCall, Part

    class Fake(BaseLlm):  # type: ignore[misc]
        model: str = "fake"

        async def generate_content_async(self, request: Any, stream: bool = False) -> Any:
            (tools,) = request.config.tools
            (add,) = [one for one in tools.function_declarations if one.name == "add"]
            check(add.parameters_json_schema)
            parts = [part for content in request.contents for part in content.parts]
            told = [part.function_response for part in parts if part.function_response]
            call = Part(function_call=FunctionCall(name="add", args=ARGUMENTS, id="c"))
            part = Part(text=said(told[0].response["result"])) if told else call
            yield LlmResponse(content=Content(role="model", parts=[part]))

    return Fake()


def said(result: Any) -> str:
    """Return the model's reading of a result."""
    assert isinstance(result, str), result
    return f"It is {result}"


MODELS: dict[str, Callable[[], Any]] = {
    "openai_agents": openai_agents,
    "pydantic_ai": pydantic_ai,
    "langchain": langchain,
    "llama_index": llama_index,
    "google_adk": google_adk,
}


async def main() -> None:
    """Run the recipes that are named, or all."""
    server, names = sys.argv[1], sys.argv[2:] or list(MODELS)
    for name in names:
        async with mcpclient.connect([sys.executable, server]) as client:
            expected = said(
                await (await client.toolbox("openai_chat")).agent_tools[1].execute(ARGUMENTS)
            )
            answer = await recipes()[name](client, MODELS[name](), QUESTION)
        assert answer == expected, answer
        print(f"     {name}: {answer}")


if __name__ == "__main__":
    asyncio.run(main())
