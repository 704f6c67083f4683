"""Messages of prompts and of sampling as turns."""

from __future__ import annotations

from typing import Any

from mcpclient.adapters.definitions import RawCall
from mcpclient.adapters.limits import MediaRules
from mcpclient.adapters.parts import Prepared, turns_of
from mcpclient.protocol.sampling import SamplingMessage

RULES = MediaRules({"image/png": "png"})


def message(role: str, *content: dict[str, Any]) -> SamplingMessage:
    return SamplingMessage({"role": role, "content": list(content)})


def test_calls_and_their_results() -> None:
    """F-API-11: a result knows the name of its call, by which the API knows the tool."""
    use = {"type": "tool_use", "id": "c", "name": "a.b", "input": {"x": 1}, "_meta": {"k": 1}}
    said = {"type": "tool_result", "toolUseId": "c", "content": [{"type": "text", "text": "hi"}]}
    other = {"type": "tool_result", "toolUseId": "d", "isError": True}
    turns = turns_of(
        [message("assistant", use), message("user", said, other)], RULES, {"a.b": "a_b"}
    )
    assert turns[0].calls == [RawCall("c", "a_b", {"x": 1}, {"k": 1})]
    assert turns[1].results == [
        Prepared(["hi"], False, "c", "a_b"),
        Prepared(["[no output]"], True, "d"),
    ]
    assert turns[0].parts == turns[1].parts == []
