"""OpenAI's Chat Completions API; `test_provider_sdks` has it with the SDK."""

from __future__ import annotations

from mcpclient.adapters.definitions import ToolCall
from mcpclient.adapters.limits import Limits
from mcpclient.adapters.openai_chat import request, results
from mcpclient.protocol.sampling import SamplingRequest
from mcpclient.protocol.types import CallToolResult
from tests.adapters.outcomes import OUTCOMES, PDF, PNG, WAV, encoded
from tests.adapters.test_provider_types import SAMPLING


def test_results() -> None:
    """F-TOOL-3: text in the tool's message, media in one of the user that follows all of them."""
    names = ("an image", "an error", "sound", "an embedded document")
    pairs = [
        (ToolCall(f"c{n}", "t", called_as="t"), OUTCOMES[name]) for n, name in enumerate(names)
    ]
    *answers, following = results(pairs)
    assert answers == [
        {
            "role": "tool",
            "tool_call_id": "c0",
            "content": f"see\n[image, image/png, {len(PNG)} bytes: see the next message]\nabove",
        },
        {"role": "tool", "tool_call_id": "c1", "content": "Tool error: disk full"},
        {
            "role": "tool",
            "tool_call_id": "c2",
            "content": f"[audio, audio/wav, {len(WAV)} bytes: see the next message]",
        },
        {
            "role": "tool",
            "tool_call_id": "c3",
            "content": (
                f"[document file:///a/b.pdf, application/pdf, {len(PDF)} bytes: "
                "see the next message]"
            ),
        },
    ]
    announced = {"type": "text", "text": "From the result of t (call c0):"}
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded(PNG)}"}}
    assert following["role"] == "user"
    assert following["content"][:2] == [announced, image]
    assert following["content"][3] == {
        "type": "input_audio",
        "input_audio": {"data": encoded(WAV), "format": "wav"},
    }
    assert following["content"][5] == {
        "type": "file",
        "file": {"filename": "b.pdf", "file_data": f"data:application/pdf;base64,{encoded(PDF)}"},
    }


def test_what_a_server_asks() -> None:
    """F-API-11."""
    made = request(SAMPLING, "m")
    assert made["messages"][0] == {"role": "system", "content": "Be brief."}
    assert made["messages"][2]["tool_calls"][0]["function"]["name"] == "weather_now"
    assert made["messages"][3] == {"role": "tool", "tool_call_id": "c1", "content": "sunny"}
    assert request(SamplingRequest({"messages": []}), "m") == {"model": "m", "messages": []}


def test_limits_of_the_api_are_kept() -> None:
    """F-TOOL-3, F-API-11: four stop sequences, and images of 20 MB, whatever a program allows."""
    asked = SamplingRequest({"messages": [], "stopSequences": list("abcde")})
    assert request(asked, "m")["stop"] == list("abcd")
    image = {"type": "image", "mimeType": "image/png", "data": encoded(b"x" * 20_000_001)}
    call = ToolCall("c", "t", called_as="t")
    (answer,) = results(
        [(call, CallToolResult({"content": [image]}))], limits=Limits(max_image_bytes=10**9)
    )
    assert answer["content"] == (
        "[image, image/png, 20000001 bytes: it is larger than 20000000 bytes]"
    )
