"""Messages of prompts and of sampling as turns."""

from __future__ import annotations

import re
from typing import Any

from mcpclient.adapters.definitions import RawCall, ToolCall
from mcpclient.adapters.limits import MediaRules
from mcpclient.adapters.parts import Prepared, made_results, turns_of
from mcpclient.protocol.sampling import SamplingMessage
from tests.adapters.outcomes import OUTCOMES

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
