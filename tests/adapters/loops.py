"""An agent loop for each provider, as the guide shows them. ``llm`` is a client of its SDK."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["LOOPS"]

MODEL = "model-1"


async def anthropic(llm: Any, client: Any, question: str) -> str:
    box = await client.toolbox("anthropic")
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        reply = await llm.messages.create(
            model=MODEL, max_tokens=1000, messages=messages, tools=box.tools
        )
        messages.append({"role": "assistant", "content": reply.content})
        if reply.stop_reason != "tool_use":
            return str(reply.content[-1].text)
        messages += await box.run(reply)


async def openai_chat(llm: Any, client: Any, question: str) -> str:
    box = await client.toolbox("openai_chat")
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        reply = await llm.chat.completions.create(model=MODEL, messages=messages, tools=box.tools)
        messages.append(reply.choices[0].message)
        if not reply.choices[0].message.tool_calls:
            return str(reply.choices[0].message.content)
        messages += await box.run(reply)


async def openai_responses(llm: Any, client: Any, question: str) -> str:
    box = await client.toolbox("openai_responses")
    items: list[Any] = [{"role": "user", "content": question}]
    while True:
        reply = await llm.responses.create(model=MODEL, input=items, tools=box.tools)
        items += reply.output
        answers = await box.run(reply)
        if not answers:
            return str(reply.output_text)
        items += answers


async def google(llm: Any, client: Any, question: str) -> str:
    box = await client.toolbox("google")
    contents: list[Any] = [{"role": "user", "parts": [{"text": question}]}]
    while True:
        reply = await llm.aio.models.generate_content(
            model=MODEL, contents=contents, config={"tools": box.tools}
        )
        contents.append(reply.candidates[0].content)
        if not reply.function_calls:
            return str(reply.text)
        contents += await box.run(reply)


async def bedrock(llm: Any, client: Any, question: str) -> str:
    box = await client.toolbox("bedrock")
    messages: list[Any] = [{"role": "user", "content": [{"text": question}]}]
    while True:
        reply = await asyncio.to_thread(
            llm.converse, modelId=MODEL, messages=messages, toolConfig={"tools": box.tools}
        )
        messages.append(reply["output"]["message"])
        if reply["stopReason"] != "tool_use":
            return str(reply["output"]["message"]["content"][-1]["text"])
        messages += await box.run(reply)


LOOPS = {
    "anthropic": anthropic,
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
    "google": google,
    "bedrock": bedrock,
}
