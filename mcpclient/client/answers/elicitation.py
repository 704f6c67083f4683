"""Elicitation: the server asks the user, by a form or by a visit to a URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Union

from ...errors import HandlerFailed, McpError, UsageError
from ...net.clocks import steady_seconds
from ...net.futures import BackgroundTasks
from ...protocol.elicitation import (
    ACTIONS,
    ElicitationRequest,
    check_request,
    content_problem,
    with_defaults,
)
from ...protocol.schema_on_demand import compile_schema
from ..events.callbacks import Observer, OrderedCallback, ask

if TYPE_CHECKING:
    from ...protocol.schema import Schema

# The most visits remembered, since the server may still announce that they are completed.
_REMEMBERED_VISITS = 1000

ElicitationHandler = Callable[[ElicitationRequest], Any]
"""Takes an `ElicitationRequest`; plain or async."""


@dataclass(frozen=True)
class Elicitation:
    """The functions that ask the user: to fill in a form, to visit a URL, or either.

    Both functions take an `ElicitationRequest` and return

    - the user's answer: for a form a dict of its fields, for a visit True when the user agreed,
    - False when the user declined, None when the user chose nothing (dismissed the question),
    - or the answer as the protocol has it: ``{"action": "accept", "content": {…}}``.

    Fields of a form that are missing or None get the form's defaults; True accepts with all of its
    defaults. An answer that does not fit the form is never sent: the server gets an error.

    ``url`` must show the whole URL, and ask before anything opens it (see
    `ElicitationRequest.host` and `url_warnings`). It is also called when a tool call fails because
    a visit is needed first (error -32042); after the visit the call is retried once.
    ``on_complete`` takes the ``elicitation_id`` of a visit that the user agreed to, when the server
    reports that it is completed.
    """

    form: ElicitationHandler | None = None
    url: ElicitationHandler | None = None
    on_complete: Callable[[str], Any] | None = None


ElicitationOption = Union[ElicitationHandler, Elicitation]
"""A function for forms, or an `Elicitation`."""


def accept_defaults(request: ElicitationRequest) -> dict[str, Any]:
    """Accept a form with the defaults it comes with: ``elicitation=accept_defaults``."""
    return {}


def form_problem(request: ElicitationRequest, answer: object) -> str | None:
    """Return why a handler's answer does not fit its form, without its values; None if it fits."""
    try:
        action, content = _understood(request, answer)
        return _filled_in(request, content, _compiled(request))[1] if action == "accept" else None
    except McpError as error:
        return str(error)


class ElicitationAnswerer(Observer):
    """Answers ``elicitation/create``, and learns when a visit to a URL is completed."""

    method = "elicitation/create"
    capability = "elicitation"

    def __init__(self, option: ElicitationOption) -> None:
        if not isinstance(option, Elicitation):
            if not callable(option):
                raise UsageError(f"elicitation is a function or an Elicitation, not {option!r}")
            option = Elicitation(form=option)
        modes = {"form": option.form, "url": option.url}
        self._by_mode = {mode: handler for mode, handler in modes.items() if handler is not None}
        if not self._by_mode:
            raise UsageError("an Elicitation needs a function for forms or for URLs")
        self._tasks = BackgroundTasks()
        self._on_complete = (
            OrderedCallback(option.on_complete, self._tasks) if option.on_complete else None
        )
        self._visits: dict[str, None] = {}

    @property
    def settings(self) -> dict[str, Any]:
        return {mode: {} for mode in self._by_mode}

    async def answer(self, params: Mapping[str, Any], server: str) -> dict[str, Any]:
        request = ElicitationRequest(params, server)
        check_request(request, self._by_mode)
        handler = self._by_mode[request.mode]
        if request.mode == "url":
            action, _ = _understood(request, await ask(self.method, handler, request))
            if action == "accept" and request.elicitation_id is not None:
                self._visits[request.elicitation_id] = None
                if len(self._visits) > _REMEMBERED_VISITS:
                    del self._visits[next(iter(self._visits))]
            return {"action": action}
        # Compiled before the user is asked to fill it in: no answer can fit an invalid form.
        form = _compiled(request)
        action, content = _understood(request, await ask(self.method, handler, request))
        if action != "accept":
            return {"action": action}
        try:
            filled_in, problem = _filled_in(request, content, form)
        except McpError as error:
            raise HandlerFailed(self.method, f"the answer was {error}") from None
        if problem:
            raise HandlerFailed(self.method, f"the answer does not fit the form: {problem}")
        return {"action": "accept", "content": filled_in}

    # Observer

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        if method != "notifications/elicitation/complete":
            return
        elicitation_id = params.get("elicitationId")
        if isinstance(elicitation_id, str) and elicitation_id in self._visits:
            del self._visits[elicitation_id]
            if self._on_complete is not None:
                self._on_complete(elicitation_id)

    def closed(self) -> None:
        self._visits.clear()
        self._tasks.cancel()


def _understood(request: ElicitationRequest, answer: object) -> tuple[str, Mapping[str, Any]]:
    """Return the action that an answer means, and its content."""
    if answer is None:
        return "cancel", {}
    if isinstance(answer, bool):
        return ("accept" if answer else "decline"), {}
    if not isinstance(answer, Mapping):
        raise _useless(f"returned {type(answer).__name__}")
    if "action" not in answer or "action" in request.fields:
        return "accept", answer
    action, content = answer["action"], answer.get("content")
    if action not in ACTIONS:
        raise _useless("returned an action there is not")
    if content is not None and not isinstance(content, Mapping):
        raise _useless("returned content that is not a mapping")
    return action, content or {}


def _compiled(request: ElicitationRequest) -> Schema:
    return compile_schema(request.schema, clock=steady_seconds, assert_formats=True)


def _filled_in(
    request: ElicitationRequest, content: Mapping[str, Any], form: Schema
) -> tuple[dict[str, Any], str | None]:
    """Return the content with the form's defaults, and the reason why it does not fit."""
    given = {name: value for name, value in content.items() if value is not None}
    filled_in = with_defaults(request, given)
    problem = content_problem(filled_in)
    if problem:
        return filled_in, problem
    missing = [name for name in request.required if name not in filled_in]
    if missing:
        return filled_in, f"not filled in: {', '.join(missing)}"
    # Places and rules only, never the values that the user has entered.
    places = [
        f"{violation.instance_path or 'the form'} ({violation.schema_path.rpartition('/')[2]})"
        for violation in form.validate(filled_in)
    ]
    return filled_in, ", ".join(places) or None


def _useless(what: str) -> HandlerFailed:
    return HandlerFailed(ElicitationAnswerer.method, f"its handler {what}")
