"""The five model APIs as servers on this machine: they answer by a script, and refuse as they do.

What the services check, and how they say so, comes from their documents and from error messages
that are quoted in public; see the docstrings of the adapters.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Union

from tests.support.http_server import Answer, Request

Json = dict[str, Any]
Turn = Union[str, list[tuple[str, Json]]]
Script = list[Turn]
"""What the model says in each turn: a string, or the calls it makes by name and arguments."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_COMBINING = {"oneOf", "anyOf", "allOf"}


class Refused(Exception):
    """The error of the service for a request that it rejects."""


@dataclass
class Api:
    """One API. ``requests`` are the bodies that came; ``results`` are their results of calls."""

    script: Script
    requests: list[Json] = field(default_factory=list)
    results: list[tuple[str, str]] = field(default_factory=list)

    async def handle(self, request: Request, answer: Answer) -> None:
        body = json.loads(request.body)
        self.requests.append(body)
        try:
            self.check(body)
        except Refused as error:
            answer.json({"error": {"message": str(error), "type": "invalid_request_error"}}, 400)
            return
        turn = self.script.pop(0)
        calls = [] if isinstance(turn, str) else self.numbered(turn)
        text = turn if isinstance(turn, str) else ""
        if self.streams(request, body):
            self.stream(answer, text, calls)
        else:
            answer.json(self.whole(text, calls))

    def numbered(self, turn: list[tuple[str, Json]]) -> list[tuple[str, str, Json]]:
        first = len(self.results)
        return [
            (f"call_{first + number}", name, arguments)
            for number, (name, arguments) in enumerate(turn)
        ]

    def check_results(self, asked: list[str], answered: list[str]) -> None:
        if asked != answered:
            raise Refused(f"calls {asked} were answered with {answered}")

    def streams(self, request: Request, body: Json) -> bool:
        return bool(body.get("stream"))

    def check(self, body: Json) -> None:
        raise NotImplementedError

    def whole(self, text: str, calls: list[tuple[str, str, Json]]) -> Json:
        raise NotImplementedError

    def stream(self, answer: Answer, text: str, calls: list[tuple[str, str, Json]]) -> None:
        raise NotImplementedError


def check_definition(
    name: str,
    schema: Json,
    refused: set[str],
    description: str,
    keys: re.Pattern[str] | None = None,
) -> None:
    if not _NAME.fullmatch(name):
        raise Refused(f"tool name {name!r} does not match")
    if schema.get("type") != "object" or refused & schema.keys():
        raise Refused(f"schema of {name} has {refused & schema.keys()} at the top level")
    if not description:
        raise Refused(f"{name} has no description")
    for key in schema.get("properties", {}):
        if keys is not None and not keys.fullmatch(key):
            raise Refused(f"property keys should match pattern, not {key!r}")


def check_arrays(schema: Any) -> None:
    if isinstance(schema, dict):
        if schema.get("type") == "array" and "items" not in schema:
            raise Refused("array schema missing items")
        for value in schema.values():
            check_arrays(value)
    elif isinstance(schema, list):
        for value in schema:
            check_arrays(value)


def check_image(media_type: str, data: bytes) -> None:
    starts = {"image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8", "image/gif": b"GIF8"}
    if not data.startswith(starts.get(media_type, b"RIFF")):
        raise Refused(f"the image was specified as {media_type}, but appears to be another")


def pieces(text: str) -> Iterator[str]:
    """Text as it comes in a stream, in small steps."""
    for start in range(0, len(text), 5):
        yield text[start : start + 5]


class Anthropic(Api):
    path = "/v1/messages"

    def check(self, body: Json) -> None:
        if "temperature" in body:
            raise Refused("temperature: Extra inputs are not permitted")
        for tool in body.get("tools", []):
            if tool.get("type") is None:
                check_definition(
                    tool["name"], tool["input_schema"], _COMBINING, tool["description"], _KEY
                )
        waiting: list[str] = []
        for message in body["messages"]:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            results = [block for block in blocks if block["type"] == "tool_result"]
            self.check_results(waiting, [block["tool_use_id"] for block in results])
            if results and blocks[: len(results)] != results:
                raise Refused("tool_result blocks come first")
            for result in results:
                self.check_result(result)
            for block in blocks:
                if block["type"] == "text" and not block["text"].strip():
                    raise Refused("text content blocks must contain non-whitespace text")
                if block["type"] in ("image", "document") and message["role"] == "assistant":
                    raise Refused(f"{block['type']!r} blocks are not permitted")
            waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]

    def check_result(self, result: Json) -> None:
        content, said = result["content"], ""
        blocks: list[Json] = (
            [{"type": "text", "text": content}] if isinstance(content, str) else content
        )
        for block in blocks:
            if block["type"] == "image":
                source = block["source"]
                if len(source["data"]) > 5_242_880:
                    raise Refused("image exceeds 5 MB maximum")
                check_image(source["media_type"], base64.b64decode(source["data"]))
                said += "<image>"
            elif block["type"] == "text":
                if not block["text"].strip():
                    raise Refused("text content blocks must contain non-whitespace text")
                said += block["text"]
        self.results.append((result["tool_use_id"], ("!" if result.get("is_error") else "") + said))

    def whole(self, text: str, calls: list[tuple[str, str, Json]]) -> Json:
        content: list[Json] = [{"type": "text", "text": text}] if text else []
        content += [
            {"type": "tool_use", "id": identity, "name": name, "input": arguments}
            for identity, name, arguments in calls
        ]
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "model-1",
            "content": content,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def stream(self, answer: Answer, text: str, calls: list[tuple[str, str, Json]]) -> None:
        answer.stream()
        whole = self.whole(text, calls)
        start: Json = {**whole, "content": [], "stop_reason": None}
        self.event(answer, "message_start", message=start)
        for index, block in enumerate(whole["content"]):
            is_call = block["type"] == "tool_use"
            empty = {**block, "input": {}} if is_call else {**block, "text": ""}
            self.event(answer, "content_block_start", index=index, content_block=empty)
            for piece in pieces(json.dumps(block["input"]) if is_call else block["text"]):
                delta = (
                    {"type": "input_json_delta", "partial_json": piece}
                    if is_call
                    else {"type": "text_delta", "text": piece}
                )
                self.event(answer, "content_block_delta", index=index, delta=delta)
            self.event(answer, "content_block_stop", index=index)
        end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        self.event(answer, "message_delta", delta=end, usage={"output_tokens": 1})
        self.event(answer, "message_stop")
        answer.end()

    def event(self, answer: Answer, kind: str, **data: Any) -> None:
        answer.event({"type": kind, **data}, event=kind)


_ROOT = {*_COMBINING, "enum", "const", "not"}


class OpenAIChat(Api):
    path = "/v1/chat/completions"

    def check(self, body: Json) -> None:
        for tool in body.get("tools", []):
            function = tool["function"]
            check_definition(
                function["name"], function["parameters"], _ROOT, function["description"]
            )
            check_arrays(function["parameters"])
        waiting: list[str] = []
        for message in body["messages"]:
            if message["role"] == "tool":
                if not isinstance(message["content"], str):
                    raise Refused("tool messages are text")
                self.check_results(waiting[:1], [message["tool_call_id"]])
                waiting = waiting[1:]
                self.results.append((message["tool_call_id"], message["content"]))
                continue
            self.check_results(waiting, [])
            waiting = [call["id"] for call in message.get("tool_calls") or []]
            if message["role"] == "user" and isinstance(message["content"], list):
                self.check_parts(message["content"])

    def check_parts(self, parts: list[Json]) -> None:
        for part in parts:
            if part["type"] == "image_url":
                kind, _, data = part["image_url"]["url"].partition(";base64,")
                check_image(kind[5:], base64.b64decode(data))
                self.results.append(("user", "<image>"))

    def whole(self, text: str, calls: list[tuple[str, str, Json]]) -> Json:
        message: Json = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = [
                {
                    "id": identity,
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for identity, name, arguments in calls
            ]
        finish = "tool_calls" if calls else "stop"
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "model-1",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        }

    def stream(self, answer: Answer, text: str, calls: list[tuple[str, str, Json]]) -> None:
        answer.stream()
        self.chunk(answer, {"role": "assistant", "content": None})
        for piece in pieces(text):
            self.chunk(answer, {"content": piece})
        for index, (identity, name, arguments) in enumerate(calls):
            head = {"index": index, "id": identity, "type": "function"}
            self.chunk(
                answer, {"tool_calls": [{**head, "function": {"name": name, "arguments": ""}}]}
            )
            for piece in pieces(json.dumps(arguments)):
                step = {"index": index, "function": {"arguments": piece}}
                self.chunk(answer, {"tool_calls": [step]})
        self.chunk(answer, {}, "tool_calls" if calls else "stop")
        answer.event("[DONE]")
        answer.end()

    def chunk(self, answer: Answer, delta: Json, finish: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1}
        answer.event({**head, "model": "model-1", "choices": [choice]})


class OpenAIResponses(Api):
    path = "/v1/responses"

    def check(self, body: Json) -> None:
        for tool in body.get("tools", []):
            if not isinstance(tool["strict"], bool):
                raise Refused("strict is required")
            check_definition(tool["name"], tool["parameters"], _ROOT, tool["description"])
            check_arrays(tool["parameters"])
        items = body["input"] if isinstance(body["input"], list) else []
        asked = [item["call_id"] for item in items if item.get("type") == "function_call"]
        answers = [item for item in items if item.get("type") == "function_call_output"]
        self.check_results(asked, [item["call_id"] for item in answers])
        for item in answers:
            self.check_output(item)

    def check_output(self, item: Json) -> None:
        output, said = item["output"], ""
        for part in [{"type": "input_text", "text": output}] if isinstance(output, str) else output:
            if part["type"] == "input_image":
                kind, _, data = part["image_url"].partition(";base64,")
                check_image(kind[5:], base64.b64decode(data))
                said += "<image>"
            else:
                said += part.get("text", f"<{part['type']}>")
        self.results.append((item["call_id"], said))

    def whole(self, text: str, calls: list[tuple[str, str, Json]]) -> Json:
        part = {"type": "output_text", "text": text, "annotations": []}
        output: list[Json] = []
        if text:
            head = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
            output.append({**head, "content": [part]})
        for identity, name, arguments in calls:
            item = {"type": "function_call", "id": f"fc_{identity}", "status": "completed"}
            output.append(
                {**item, "call_id": identity, "name": name, "arguments": json.dumps(arguments)}
            )
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": "model-1",
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }

    def stream(self, answer: Answer, text: str, calls: list[tuple[str, str, Json]]) -> None:
        answer.stream()
        whole = self.whole(text, calls)
        events: list[Json] = [
            {
                "type": "response.created",
                "response": {**whole, "output": [], "status": "in_progress"},
            }
        ]
        for index, item in enumerate(whole["output"]):
            at: Json = {"output_index": index, "item_id": item["id"]}
            if item["type"] == "message":
                empty = {**item, "content": [], "status": "in_progress"}
                part = item["content"][0]
                at["content_index"] = 0
                events.append(
                    {"type": "response.output_item.added", "output_index": index, "item": empty}
                )
                opened = {**part, "text": ""}
                events.append({"type": "response.content_part.added", **at, "part": opened})
                for piece in pieces(part["text"]):
                    events.append(
                        {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
                    )
                done = {"type": "response.output_text.done", **at, "text": part["text"]}
                events.append({**done, "logprobs": []})
                events.append({"type": "response.content_part.done", **at, "part": part})
            else:
                empty = {**item, "arguments": "", "status": "in_progress"}
                events.append(
                    {"type": "response.output_item.added", "output_index": index, "item": empty}
                )
                for piece in pieces(item["arguments"]):
                    events.append(
                        {"type": "response.function_call_arguments.delta", **at, "delta": piece}
                    )
                kind = "response.function_call_arguments.done"
                arguments = {"name": item["name"], "arguments": item["arguments"]}
                events.append({"type": kind, **at, **arguments})
            events.append(
                {"type": "response.output_item.done", "output_index": index, "item": item}
            )
        events.append({"type": "response.completed", "response": whole})
        for number, event in enumerate(events):
            answer.event({**event, "sequence_number": number}, event=event["type"])
        answer.end()


class Google(Api):
    path = "/v1beta/models/model-1"

    def streams(self, request: Request, body: Json) -> bool:
        return ":streamGenerateContent" in request.target

    def check(self, body: Json) -> None:
        for tool in body.get("tools", []):
            for function in tool["functionDeclarations"]:
                schema = function["parameters_json_schema"]  # as the SDK writes it
                check_definition(function["name"], schema, _ROOT, function["description"])
                if "$ref" in json.dumps(schema):
                    raise Refused("a reference")
        waiting: list[Json] = []
        for content in body["contents"]:
            found = [part.get("functionResponse") for part in content["parts"]]
            answers = [answer for answer in found if answer is not None]
            self.check_results(
                [call["name"] for call in waiting], [answer["name"] for answer in answers]
            )
            for answer in answers:
                self.check_answer(answer)
            calls = [part.get("functionCall") for part in content["parts"]]
            waiting = [call for call in calls if call is not None]
            if waiting and content["parts"][-len(waiting)].get("thoughtSignature") != "c2ln":
                raise Refused("function call is missing a thought_signature")

    def check_answer(self, answer: Json) -> None:
        response = answer["response"]
        if any("$ref" in value for value in response.values() if isinstance(value, dict)):
            raise Refused("a reference inside response")
        said = "!" + response["error"] if "error" in response else response["output"]
        for part in answer.get("parts", []):
            data = part.get("inlineData") or part["inline_data"]
            media_type = data.get("mimeType") or data["mime_type"]
            if media_type.startswith("image/"):
                check_image(media_type, base64.urlsafe_b64decode(data["data"]))
            said += f"<{media_type.partition('/')[0]}>"
        self.results.append((answer.get("id", ""), said))

    def whole(self, text: str, calls: list[tuple[str, str, Json]]) -> Json:
        parts: list[Json] = [{"text": text}] if text else []
        for index, (identity, name, arguments) in enumerate(calls):
            part: Json = {"functionCall": {"id": identity, "name": name, "args": arguments}}
            parts.append({**part, "thoughtSignature": "c2ln"} if index == 0 else part)
        if not parts:
            return {"promptFeedback": {"blockReason": "OTHER"}, "modelVersion": "model-1"}
        content = {"role": "model", "parts": parts}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        return {"candidates": [candidate], "modelVersion": "model-1"}

    def stream(self, answer: Answer, text: str, calls: list[tuple[str, str, Json]]) -> None:
        answer.stream()
        for part in self.whole(text, calls)["candidates"][0]["content"]["parts"]:
            content = {"role": "model", "parts": [part]}
            answer.event({"candidates": [{"content": content, "index": 0}]})
        answer.end()


class Bedrock(Api):
    path = "/model/model-1/converse"

    def streams(self, request: Request, body: Json) -> bool:
        return request.target.endswith("/converse-stream")

    def check(self, body: Json) -> None:
        for tool in body.get("toolConfig", {}).get("tools", []):
            spec = tool["toolSpec"]
            schema = spec["inputSchema"]["json"]
            check_definition(spec["name"], schema, _COMBINING, spec["description"], _KEY)
        waiting: list[str] = []
        role = "assistant"
        for message in body["messages"]:
            if message["role"] == role:
                raise Refused("roles must alternate")
            role = message["role"]
            found = [block.get("toolResult") for block in message["content"]]
            results = [result for result in found if result is not None]
            if role == "assistant" and any("image" in block for block in message["content"]):
                raise Refused("images are only for the user")
            self.check_results(waiting, [result["toolUseId"] for result in results])
            for result in results:
                self.check_result(result)
            uses = [block.get("toolUse") for block in message["content"]]
            waiting = [use["toolUseId"] for use in uses if use is not None]

    def check_result(self, result: Json) -> None:
        if not result["content"]:
            raise Refused("content is empty")
        said = "!" if result["status"] == "error" else ""
        for block in result["content"]:
            if "image" in block:
                image = block["image"]
                check_image(f"image/{image['format']}", base64.b64decode(image["source"]["bytes"]))
                said += "<image>"
            else:
                said += block.get("text", "<document>")
        self.results.append((result["toolUseId"], said))

    def whole(self, text: str, calls: list[tuple[str, str, Json]]) -> Json:
        content: list[Json] = [{"text": text}] if text else []
        content += [
            {"toolUse": {"toolUseId": identity, "name": name, "input": arguments}}
            for identity, name, arguments in calls
        ]
        return {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": "tool_use" if calls else "end_turn",
            "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
            "metrics": {"latencyMs": 1},
        }

    def stream(self, answer: Answer, text: str, calls: list[tuple[str, str, Json]]) -> None:
        whole = self.whole(text, calls)
        frames = event_frame("messageStart", {"role": "assistant"})
        for index, block in enumerate(whole["output"]["message"]["content"]):
            at = {"contentBlockIndex": index}
            use = block.get("toolUse")
            if use is not None:
                start: Json = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}
                frames += event_frame("contentBlockStart", {**at, "start": start})
            for piece in pieces(block["text"] if use is None else json.dumps(use["input"])):
                delta: Json = {"text": piece} if use is None else {"toolUse": {"input": piece}}
                frames += event_frame("contentBlockDelta", {**at, "delta": delta})
            frames += event_frame("contentBlockStop", at)
        frames += event_frame("messageStop", {"stopReason": whole["stopReason"]})
        answer.full(200, {"Content-Type": "application/vnd.amazon.eventstream"}, frames)


def event_frame(kind: str, payload: Json) -> bytes:
    """One event of an Amazon event stream: lengths, headers, JSON, and checksums of both."""
    named = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        struct.pack("!B", len(name))
        + name.encode()
        + struct.pack("!BH", 7, len(value))
        + value.encode()
        for name, value in named.items()
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(body), len(headers))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + body
    return message + struct.pack("!I", zlib.crc32(message))


APIS: dict[str, type[Any]] = {
    "anthropic": Anthropic,
    "openai_chat": OpenAIChat,
    "openai_responses": OpenAIResponses,
    "google": Google,
    "bedrock": Bedrock,
}
