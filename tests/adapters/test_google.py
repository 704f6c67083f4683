"""Google's Gemini API; `test_provider_sdks` has it with the SDK."""

from __future__ import annotations

from typing import Any

from mcpclient.adapters.google import answer, request
from mcpclient.protocol.sampling import SamplingRequest
from tests.support.tables import each_row

PARTS: list[dict[str, Any]] = [
    {"text": "hm", "thought": True},
    {"text": "I look."},
    {"functionCall": {"name": "a", "args": {"x": 1}}, "thoughtSignature": b"sig"},
    {"function_call": {"id": "c", "name": "a", "args": None}},
]


def test_what_a_server_is_answered() -> None:
    """F-API-11: with ids, which MCP needs, and signatures, which the API wants back."""
    asked = SamplingRequest({"messages": [], "tools": [{"name": "a"}]})
    candidate = {"content": {"role": "model", "parts": PARTS}, "finishReason": "STOP"}
    made = answer({"candidates": [candidate], "modelVersion": "m"}, asked)
    use = {"type": "tool_use", "name": "a"}
    signed = {"_meta": {"mcpclient/thoughtSignature": "c2ln"}}
    assert made == {
        "content": [
            {"type": "text", "text": "I look."},
            {**use, "id": "call_1", "input": {"x": 1}, **signed},
            {**use, "id": "c", "input": {}},
        ],
        "model": "m",
        "stop_reason": None,
    }
    back = {"role": "assistant", "content": [made["content"][1]]}
    (content,) = request(SamplingRequest({"messages": [back]}), "m")["contents"]
    assert content["parts"][0]["thoughtSignature"] == "c2ln"


@each_row(
    ("media_type", "is_taken"),
    [("video/mp4", True), ("image/heic", True), ("audio/flac", True), ("video/x-other", False)],
)
def test_media_reach_a_model_that_takes_them(media_type: str, is_taken: bool) -> None:
    """F-TOOL-3: as they are, or else as a line that describes them."""
    held = {"uri": "file:///a", "blob": "aGk=", "mimeType": media_type}
    message = {"role": "user", "content": [{"type": "resource", "resource": held}]}
    (content,) = request(SamplingRequest({"messages": [message]}), "m")["contents"]
    (part,) = content["parts"]
    assert part.get("inlineData") == (
        {"mimeType": media_type, "data": "aGk="} if is_taken else None
    )
    assert is_taken or "the model does not accept this type" in part["text"]
