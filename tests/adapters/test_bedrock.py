"""Amazon Bedrock's Converse API; `test_provider_sdks` has it with the SDK."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.adapters.bedrock import answer, calls, messages, request, results, tools
from mcpclient.adapters.definitions import ToolCall
from mcpclient.protocol.sampling import SamplingRequest
from mcpclient.protocol.types import CallToolResult, GetPromptResult
from tests.adapters.outcomes import OUTCOMES, PDF, PNG, PROMPT, encoded
from tests.adapters.shapes import tool
from tests.adapters.test_provider_types import SAMPLING

SCHEMA = {"type": "object", "properties": {}}
USE = {"toolUse": {"toolUseId": "c", "name": "a", "input": {"x": 1}}}
MESSAGE = {"role": "assistant", "content": [{"text": "I look."}, USE]}
IMAGE = {"image": {"format": "png", "source": {"bytes": PNG}}}


def test_definitions() -> None:
    """F-TOOL-1."""
    spec = {"name": "web_search", "description": "d", "inputSchema": {"json": SCHEMA}}
    assert tools([tool({}, "web.search", description="d")]) == [{"toolSpec": spec}]


@pytest.mark.parametrize(
    "response", [{"output": {"message": MESSAGE}}, MESSAGE, MESSAGE["content"]]
)
def test_calls(response: Any) -> None:
    """F-TOOL-2: of a response, of a message, or of its content."""
    assert calls(response) == [ToolCall("c", "a", {"x": 1}, None, "a")]


def result(outcome: Any) -> dict[str, Any]:
    (message,) = results([(ToolCall("c", "t"), outcome)])
    assert message["role"] == "user"
    (block,) = message["content"]
    made: dict[str, Any] = block["toolResult"]
    assert made.pop("toolUseId") == "c"
    return made


def test_results() -> None:
    """F-TOOL-3: bytes as bytes; an error always has content."""
    assert result(OUTCOMES["text"]) == {"content": [{"text": "one\ntwo"}], "status": "success"}
    assert result(OUTCOMES["an error without words"]) == {
        "content": [{"text": "[no output]"}],
        "status": "error",
    }
    content = result(OUTCOMES["an image"])["content"]
    assert content == [{"text": "see"}, IMAGE, {"text": "above"}]
    assert results([]) == []


def test_documents_have_names_of_their_own() -> None:
    """F-TOOL-3: of the few characters that the API takes, and never the same twice."""
    blob = {"blob": encoded(PDF), "mimeType": "application/pdf"}
    uris = ["file:///a/my_report (v2).pdf", "file:///b/my_report (v2).pdf", "a:", "n" * 201]
    blocks = [{"type": "resource", "resource": {"uri": uri, **blob}} for uri in uris]
    content = result(CallToolResult({"content": blocks}))["content"]
    assert [block["document"]["name"] for block in content] == [
        "my report (v2) pdf c 1",
        "my report (v2) pdf c 2",
        "a c 3",
        "n" * 100 + " c 4",  # of at most 200
    ]
    assert content[0]["document"]["format"] == "pdf"


def test_documents_of_two_calls_have_different_names() -> None:
    """F-TOOL-3: the API refuses a conversation in which two documents have the same name."""
    outcome = OUTCOMES["an embedded document"]
    (message,) = results([(ToolCall(f"_c__{n}", "t"), outcome) for n in (1, 2)])
    blocks = [block["toolResult"]["content"][0]["document"] for block in message["content"]]
    assert [block["name"] for block in blocks] == ["b pdf c 1 1", "b pdf c 2 1"]


def test_documents_of_prompts() -> None:
    """F-TOOL-4: names of their own, text beside them, and nothing but text of the model."""
    blob = {"blob": encoded(PDF), "mimeType": "application/pdf"}
    content = {"type": "resource", "resource": {"uri": "file:///a.pdf", **blob}}
    said = [{"role": role, "content": content} for role in ("user", "user", "assistant")]
    user, assistant = messages(GetPromptResult({"messages": said}))
    names = [block["document"]["name"] for block in user["content"][:2]]
    assert names == ["a pdf 1", "a pdf 2"]
    assert user["content"][2:] == [{"text": "See the attached documents."}]
    (note,) = assistant["content"]
    assert note["text"].startswith("[document file:///a.pdf, application/pdf, 15 bytes: ")


def test_two_answers_to_one_id_are_one() -> None:
    """F-TOOL-2: the service refuses two results of one call."""
    call = ToolCall("c", "t")
    (message,) = results([(call, OUTCOMES["text"]), (call, OUTCOMES["nothing"])])
    (block,) = message["content"]
    assert block["toolResult"]["content"] == [{"text": "one\ntwo"}, {"text": "[no output]"}]


def test_prompts() -> None:
    """F-TOOL-4: roles alternate, so neighbours of one role are one message."""
    made = messages(PROMPT)
    assert [message["role"] for message in made] == ["user", "assistant", "user"]
    assert made[0]["content"] == [{"text": "look"}, IMAGE]


def test_what_a_server_asks() -> None:
    """F-API-11."""
    made = request(SAMPLING, "m")
    assert made["toolConfig"]["toolChoice"] == {"any": {}}
    use = {"toolUseId": "c1", "name": "weather_now", "input": {"city": "Rome"}}
    assert made["messages"][1]["content"][1] == {"toolUse": use}
    assert made["messages"][2]["content"][0]["toolResult"]["status"] == "success"
    plain = request(SamplingRequest({"messages": []}), "m")
    assert plain == {"modelId": "m", "messages": [], "inferenceConfig": {"maxTokens": 1024}}


@pytest.mark.parametrize("without", ["tools", "toolChoice"])
def test_a_conversation_without_tools_tells_of_calls(without: str) -> None:
    """F-API-11: the API refuses calls and results where no tools are declared."""
    changed: dict[str, Any] = {"tools": [], "toolChoice": {"mode": "none"}}
    made = request(SamplingRequest({**SAMPLING.raw, without: changed[without]}), "m")
    assert "toolConfig" not in made
    assert [message["content"] for message in made["messages"][1:]] == [
        [{"text": "I look."}, {"text": '[called weather_now with {"city": "Rome"}]'}],
        [{"text": "[the result of weather_now]"}, {"text": "sunny"}],
    ]


def test_what_a_server_is_answered() -> None:
    """F-API-11."""
    asked = SamplingRequest({"messages": [], "tools": [{"name": "a"}]})
    response = {"output": {"message": MESSAGE}, "stopReason": "tool_use"}
    use = {"type": "tool_use", "id": "c", "name": "a", "input": {"x": 1}}
    assert answer(response, asked) == {
        "content": [{"type": "text", "text": "I look."}, use],
        "model": None,
        "stop_reason": "tool_use",
    }


def test_documents_of_two_answers_to_one_id_have_different_names() -> None:
    """F-TOOL-3: the API refuses a conversation in which two documents have the same name."""
    pairs = [(ToolCall("c", "t"), OUTCOMES["an embedded document"]) for _ in range(2)]
    (message,) = results(pairs)
    (block,) = message["content"]
    documents = [each["document"] for each in block["toolResult"]["content"] if "document" in each]
    assert [document["name"] for document in documents] == ["b pdf c 1", "b pdf c 2"]
