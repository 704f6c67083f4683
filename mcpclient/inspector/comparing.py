"""The comparison of two sessions and of two lists of tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from ..errors import safe_str
from ..recording.conversation import Call, Failed, Refused

_MAX_DIFFERENCES = 200

# Aligning takes time proportional to the product of both lengths in the worst case.
_MAX_CALLS = 2_000


def compared_tools(left: Sequence[Any], right: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the tools that differ or that only one side has, sorted by name.

    Each is ``name``, ``change`` (``added``, ``removed`` or ``changed``) and ``differences``.
    """
    before, after = _by_name(left), _by_name(right)
    found: list[dict[str, Any]] = []
    for name in sorted({*before, *after}):
        if name not in before:
            found.append({"name": name, "change": "added", "differences": []})
        elif name not in after:
            found.append({"name": name, "change": "removed", "differences": []})
        elif before[name] != after[name]:
            changes = differences(before[name], after[name])
            found.append({"name": name, "change": "changed", "differences": changes})
    return found


def _by_name(tools: Sequence[Any]) -> dict[str, Any]:
    return {safe_str(tool.get("name")): tool for tool in tools if isinstance(tool, Mapping)}


def compared_calls(left: Sequence[Call], right: Sequence[Call]) -> list[dict[str, Any]]:
    """Return the calls of two sessions in one order, aligned by method and subject.

    Each is ``method``, ``name``, ``left`` and ``right`` (None, or ``seconds`` and ``outcome``),
    ``change`` (``same``, ``added``, ``removed`` or ``changed``) and the ``differences`` of params
    and outcomes.
    """
    left, right = left[:_MAX_CALLS], right[:_MAX_CALLS]
    keys = [[_subject(call) for call in side] for side in (left, right)]
    matcher = SequenceMatcher(None, keys[0], keys[1], autojunk=False)
    found: list[dict[str, Any]] = []
    for tag, begin, end, other_begin, other_end in matcher.get_opcodes():
        if tag == "equal":
            pairs = zip(left[begin:end], right[other_begin:other_end])
            found += (_compared(*pair) for pair in pairs)
        else:
            found += (_compared(call, None) for call in left[begin:end])
            found += (_compared(None, call) for call in right[other_begin:other_end])
    return found


def _subject(call: Call) -> tuple[str, str]:
    params = call.request.get("params")
    names = params if isinstance(params, dict) else {}
    return str(call.request["method"]), str(names.get("name", names.get("uri", "")))


def _compared(left: Call | None, right: Call | None) -> dict[str, Any]:
    call = left or right
    assert call is not None
    method, name = _subject(call)
    compared: dict[str, Any] = {
        "method": method,
        "name": name,
        "left": None if left is None else _described(left),
        "right": None if right is None else _described(right),
        "differences": [],
    }
    if left is None or right is None:
        return {**compared, "change": "added" if left is None else "removed"}
    changes = differences(_params(left), _params(right), "params")
    changes += differences(_outcome(left), _outcome(right), "outcome")
    return {**compared, "change": "changed" if changes else "same", "differences": changes}


def _described(call: Call) -> dict[str, Any]:
    return {"seconds": call.seconds, "outcome": _outcome(call)}


def _params(call: Call) -> Any:
    params = call.request.get("params")
    if not isinstance(params, dict):
        return params
    return {name: value for name, value in params.items() if name != "_meta"}


def _outcome(call: Call) -> Any:
    if call.answer is not None:
        answer = call.answer
        return answer["error"] if "error" in answer else answer.get("result")
    last = call.steps[-1] if call.steps else None
    if isinstance(last, Refused):
        return {"http": last.status}
    return dict(last.error) if isinstance(last, Failed) else None


def differences(left: Any, right: Any, path: str = "") -> list[list[Any]]:
    """Return the differences of two JSON values: path, left value, right value of each.

    A value that one side lacks is None there. At most 200 differences are returned.
    """
    found: list[list[Any]] = []
    for difference in _differences(left, right, path):
        if len(found) == _MAX_DIFFERENCES:
            break
        found.append(difference)
    return found


def _differences(left: Any, right: Any, path: str) -> Iterator[list[Any]]:
    # A stack instead of recursion, because values may be nested deeply.
    waiting = [(path, left, right)]
    while waiting:
        place, before, after = waiting.pop()
        if isinstance(before, dict) and isinstance(after, dict):
            names = sorted({*before, *after}, reverse=True)
            waiting += ((f"{place}/{name}", before.get(name), after.get(name)) for name in names)
        elif isinstance(before, list) and isinstance(after, list):
            indices = range(max(len(before), len(after)) - 1, -1, -1)
            waiting += (
                (f"{place}/{index}", _item(before, index), _item(after, index)) for index in indices
            )
        elif before != after or type(before) is not type(after):
            yield [place, _short(before), _short(after)]


def _item(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else None


def _short(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        value = json.dumps(value, ensure_ascii=False)
    return f"{value[:2000]}…" if isinstance(value, str) and len(value) > 2000 else value
