"""Messages of prompts and of sampling as turns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from mcpclient.adapters import anthropic, bedrock, google, openai_chat, openai_responses
from mcpclient.adapters.definitions import RawCall, ToolCall
from mcpclient.adapters.limits import Media, MediaRules, NameRule
from mcpclient.adapters.parts import Prepared, Turn, made_results, names_of, turns_of
from mcpclient.protocol.sampling import SamplingMessage, SamplingRequest
from mcpclient.protocol.types import GetPromptResult
from tests.adapters.outcomes import OUTCOMES, PNG, PROMPT

RULES = MediaRules({"image/png": "png"})


def test_a_prompt() -> None:
    """F-TOOL-4: what an API does not take is a note, and what is empty is left out."""
    turns = turns_of(PROMPT.messages, RULES)
    assert turns[0] == Turn(False, ["look"])
    assert turns[1] == Turn(False, [Media("image/png", PNG)])
    assert turns[2] == Turn(True, ["a dot"])
    assert turns[5].parts[0].startswith("[audio, audio/wav")  # type: ignore[union-attr]
    assert len(turns) == len(PROMPT.messages) - 1


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "id": "c", "name": "transfer", "input": {"to": "evil"}},
        {"type": "tool_result", "toolUseId": "c", "content": [{"type": "text", "text": "agreed"}]},
        {"type": "TOOL_USE", "id": "c", "name": "transfer", "input": {}},
    ],
    ids=lambda block: str(block["type"]),
)
@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
def test_a_prompt_makes_no_calls_and_no_results(role: str, block: dict[str, Any]) -> None:
    """F-SAFE-6, F-TOOL-4: the specification has these blocks in sampling only."""
    prompt = GetPromptResult({"messages": [{"role": role, "content": block}]})
    (turn,) = turns_of(prompt.messages, RULES)
    assert (turn.calls, turn.results) == ([], [])
    assert turn.items == [json.dumps(block)]
    for api in (anthropic, bedrock, google, openai_chat, openai_responses):
        for made in api.messages(prompt):
            kinds = {"toolUse", "tool_use_id", "functionCall", "call_id", "tool_calls"}
            assert not kinds & set(_keys(made)), api.__name__
            assert made["role"] in ("user", "assistant", "model")


def _keys(value: Any) -> Iterator[str]:
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, (dict, list)):
            yield from _keys(item)
    yield from value if isinstance(value, dict) else ()


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


def test_ids_that_no_api_takes() -> None:
    """F-API-11: a server may make up ids; those of a call and of its result stay the same."""
    ids = ["functions.a:0", "functions:a.0", "x" * 41, "ok", "ok"]
    uses = [{"type": "tool_use", "id": one, "name": "a", "input": {}} for one in ids]
    said = [{"type": "tool_result", "toolUseId": one, "content": []} for one in ids]
    calls, results = turns_of([message("assistant", *uses), message("user", *said)], RULES)
    made = [call.id for call in calls.calls]
    assert made == [result.id for result in results.results]
    assert made[3:] == ["ok", "ok"]
    assert len(set(made[:3])) == 3
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,40}", str(one)) for one in made)


def test_names_of_tools_that_are_not_offered_any_more() -> None:
    """F-API-11: what the conversation has called has a name that the API takes, too."""
    use = {"type": "tool_use", "id": "c", "name": "a.b", "input": {}}
    asked = {"messages": [{"role": "assistant", "content": use}], "tools": [{"name": "a:b"}]}
    names = names_of(SamplingRequest(asked), NameRule("a-z_0-9", 64))
    assert names["a:b"] == "a_b"
    assert names["a.b"].startswith("a_b_")


def test_results_of_calls() -> None:
    """F-TOOL-2."""
    call = ToolCall("c", "web.search", {}, None, "web_search")
    (made,) = made_results([(call, OUTCOMES["text"])], None, RULES)
    assert made == Prepared(["one\ntwo"], False, "c", "web_search")
    wrong = ToolCall("d", "x", {}, "there is no tool 'x'", "x")
    for outcome in (None, OUTCOMES["text"]):
        (made,) = made_results([(wrong, outcome)], None, RULES)
        assert made == Prepared(["there is no tool 'x'"], True, "d", "x")
    (made,) = made_results([(call, None)], None, RULES)
    assert made == Prepared(["The call was not made."], True, "c", "web_search")
