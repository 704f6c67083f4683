"""The answers of a recorded server: the script that a replay follows."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import NotRecorded, UsageError
from ..jsonrpc import messages
from ..jsonrpc.messages import ErrorCode, Message
from ..protocol.wire_object import value_at
from .conversation import Call, Heard, Step
from .redaction import REDACTED_NAME, Redactor

READY = "notifications/initialized"
"""The client is ready: from then on a server may speak unasked."""

# These open a connection, and say who asks; whoever asks may have changed since the recording.
_OPENING = frozenset({"initialize", "server/discover"})


@dataclass(frozen=True)
class Reply:
    """The reply to a request: ``steps`` at once, and ``later`` after `READY`.

    ``call``: what was recorded; None for a refusal that was not.
    """

    call: Call | None
    steps: Sequence[Step]
    later: Sequence[Step] = ()


class Script:
    """A finder of the recorded reply to a request.

    ``name``: the recording's, for messages. ``match``: what of a request has to be the same,
    see `Recording`. Raises `UsageError`.
    """

    def __init__(
        self, name: str, calls: Sequence[Call], match: Sequence[str] = ("method", "params")
    ) -> None:
        self._name = name
        self._order = calls
        self._compared = _paths_in(match)
        self._redactor = Redactor()
        self._calls: dict[tuple[str, str], list[Call]] = {}
        self._found: dict[tuple[str, str], int] = {}
        self._passed: set[int] = set()  # the identities of the calls that were found
        for call in calls:
            self._redactor.unmarked(call.answer)  # which arguments the tools mark as secret
            params = self._shown(call.request.get("params"))
            key = self._key_of(call.request["method"], params)
            self._calls.setdefault(key, []).append(call)

    @property
    def left(self) -> list[Call]:
        """The calls that were not found yet, as they were recorded; but none of the opening."""
        return [
            call
            for call in self._order
            if id(call) not in self._passed and call.request["method"] not in _OPENING
        ]

    def _shown(self, params: Any) -> Any:
        """Return the params of a request without secrets, and without what no answer depends on."""
        params = self._redactor.message(params)
        if not isinstance(params, Mapping):
            return params
        return {name: value for name, value in params.items() if name != "_meta"} or None

    def _key_of(self, method: str, params: Any) -> tuple[str, str]:
        if method in _OPENING:
            return method, "null"
        if self._compared is not None:
            params = [value_at(params, path) for path in self._compared]
        return method, REDACTED_NAME.sub("redacted", json.dumps(params, sort_keys=True))

    def reply_to(self, request: Message) -> Reply:
        """Return the reply to a request. Raises `NotRecorded`."""
        method = request["method"]
        call = self._find(method, request.get("params"))
        if call is None:
            text = "Method not found: server/discover was not recorded"
            error = messages.error_response(request["id"], ErrorCode.METHOD_NOT_FOUND, text)
            return Reply(None, [Heard(error)])
        if method == "initialize":
            return Reply(call, call.steps, call.after)
        return Reply(call, [*call.steps, *call.after])

    def _find(self, method: str, params: Any) -> Call | None:
        """Return the recorded call; None for a ``server/discover`` that has to be refused."""
        if isinstance(params, Mapping):
            params = self._redactor.masked(params)
        params = self._shown(params)
        key = self._key_of(method, params)
        calls = self._calls.get(key)
        if method == "server/discover" and ("initialize", "null") in self._calls:
            # It was not asked, as of an older server, or in vain: then no call is pending.
            calls = [call for call in calls or [] if call.steps]
            if not calls:
                return None
        if not calls:
            raise NotRecorded(self._name, method, params, self._nearest(method, key[1]))
        index = self._found.get(key, 0)
        if method in _OPENING:
            index = _next_success(calls, index)
        self._found[key] = index + 1
        call = calls[min(index, len(calls) - 1)]
        self._passed.add(id(call))
        return call

    def _nearest(self, method: str, wanted: str) -> list[Any]:
        recorded = [text for name, text in self._calls if name == method]
        matcher = difflib.SequenceMatcher(b=wanted, autojunk=False)

        def likeness(text: str) -> float:
            matcher.set_seq1(text)
            return matcher.quick_ratio()

        return [json.loads(text) for text in sorted(recorded, key=likeness, reverse=True)]


def _paths_in(match: Sequence[str]) -> list[list[str]] | None:
    """Return the paths of the params to compare; None: all of them."""
    is_known = all(name == "method" or name.split(".")[0] == "params" for name in match)
    if isinstance(match, str) or not is_known or "method" not in match:
        raise UsageError(
            'match is ("method", "params"), or with parts such as "params.name" in place of '
            f'"params", or ("method",); not {match!r}'
        )
    if "params" in match:
        return None
    return [name.split(".")[1:] for name in match if name != "method"]


def _next_success(calls: Sequence[Call], index: int) -> int:
    """Pass over attempts to open a connection that were followed by a better one."""
    better = [place for place, call in enumerate(calls) if "result" in (call.answer or {})]
    return next((place for place in better if place >= index), better[-1] if better else index)
