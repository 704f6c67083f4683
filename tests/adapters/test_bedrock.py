"""Amazon Bedrock's Converse API; `test_provider_sdks` has it with the SDK."""

from __future__ import annotations

from typing import Any

from mcpclient.adapters.bedrock import messages, request, results
from mcpclient.adapters.definitions import ToolCall
from mcpclient.protocol.sampling import SamplingRequest
from mcpclient.protocol.types import CallToolResult, GetPromptResult
from tests.adapters.outcomes import PDF, encoded
from tests.adapters.test_provider_types import SAMPLING


def result(outcome: Any) -> dict[str, Any]:
    (message,) = results([(ToolCall("c", "t"), outcome)])
    assert message["role"] == "user"
    (block,) = message["content"]
    made: dict[str, Any] = block["toolResult"]
    assert made.pop("toolUseId") == "c"
    return made


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


def test_what_a_server_asks() -> None:
    """F-API-11."""
    made = request(SAMPLING, "m")
    assert made["toolConfig"]["toolChoice"] == {"any": {}}
    use = {"toolUseId": "c1", "name": "weather_now", "input": {"city": "Rome"}}
    assert made["messages"][1]["content"][1] == {"toolUse": use}
    assert made["messages"][2]["content"][0]["toolResult"]["status"] == "success"
    plain = request(SamplingRequest({"messages": []}), "m")
    assert plain == {"modelId": "m", "messages": [], "inferenceConfig": {"maxTokens": 1024}}
