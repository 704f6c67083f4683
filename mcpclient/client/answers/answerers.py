"""The answers to what a server asks: the user fills in a form or visits a URL (elicitation), the
caller's language model writes a message (sampling), and the caller names folders (roots).
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Union

from ...errors import HandlerFailed, McpError, UsageError
from ...net.clocks import steady_seconds
from ...net.futures import BackgroundTasks
from ...net.paths import absolute_path
from ...protocol import elicitation, sampling
from ...protocol.elicitation import ElicitationRequest
from ...protocol.sampling import SamplingRequest
from ..events.callbacks import Observer, OrderedCallback, ask

if TYPE_CHECKING:
    from ...protocol.schema import Schema

# The most visits remembered, since the server may still announce that they are completed.
_REMEMBERED_VISITS = 1000

ElicitationHandler = Callable[[ElicitationRequest], Any]
"""Takes an `ElicitationRequest`; plain or async."""


class Elicitation(NamedTuple):
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
        elicitation.check_request(request, self._by_mode)
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
    if answer is None:
        return "cancel", {}
    if isinstance(answer, bool):
        return ("accept" if answer else "decline"), {}
    if not isinstance(answer, Mapping):
        raise _useless(f"returned {type(answer).__name__}")
    if "action" not in answer or "action" in request.fields:
        return "accept", answer
    action, content = answer["action"], answer.get("content")
    if action not in elicitation.ACTIONS:
        raise _useless("returned an action there is not")
    if content is not None and not isinstance(content, Mapping):
        raise _useless("returned content that is not a mapping")
    return action, content or {}


def _compiled(request: ElicitationRequest) -> Schema:
    from ...protocol.schema import compile_schema

    return compile_schema(request.schema, clock=steady_seconds, assert_formats=True)


def _filled_in(
    request: ElicitationRequest, content: Mapping[str, Any], form: Schema
) -> tuple[dict[str, Any], str | None]:
    """Return the content with the form's defaults, and the reason why it does not fit."""
    given = {name: value for name, value in content.items() if value is not None}
    filled_in = elicitation.with_defaults(request, given)
    problem = elicitation.content_problem(filled_in)
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


# The error that a server gets when the user refuses, as the specification has it.
_REJECTED = -1
_REJECTION = "User rejected sampling request"

SamplingHandler = Callable[[SamplingRequest], Any]
"""Takes a `SamplingRequest`; plain or async."""

Complete = Callable[[list[dict[str, Any]], dict[str, Any]], Any]
"""Takes chat messages and options; plain or async."""


class Sampling(NamedTuple):
    """A sampling handler, and which optional parts of sampling it supports.

    ``answer`` takes a `SamplingRequest` and returns the text of the answer, or a mapping with
    ``content`` (text, a block as the protocol has it, or a list of blocks), and ``model`` and
    ``stopReason`` where they are known; None when the user rejects the request. ``tools``: it gives
    the model the tools of the request. ``context``: it respects ``include_context`` (deprecated).
    """

    answer: SamplingHandler
    tools: bool = False
    context: bool = False


class SamplingModel(NamedTuple):
    """A language model that answers sampling: its name, and a function that calls it.

    ``complete(messages, options)``, plain or async, takes the conversation as chat messages
    (``role`` and ``content``, in the form of chat completions) and, by the names of chat
    completions, what else was asked for (``model``, ``max_tokens``, …). It returns text, an
    assistant's message, or a whole response with ``choices``, each as a dict or as the object that
    an SDK makes of it (with ``model_dump``); None rejects the request.
    A ``finish_reason`` in it is translated: ``stop`` to ``endTurn``, ``length`` to
    ``maxTokens``, ``tool_calls`` to ``toolUse``. ``tools``: it passes tools on to the model.
    """

    model: str
    complete: Complete
    tools: bool = False

    async def answer(self, request: SamplingRequest) -> object:
        """Ask the model."""
        from ...adapters import openai_chat

        options = openai_chat.request(request, self.model)
        if "max_completion_tokens" in options:  # the name that all compatible APIs know
            options["max_tokens"] = options.pop("max_completion_tokens")
        messages = options.pop("messages")
        answer = await ask(SamplingAnswerer.method, self.complete, messages, options)
        if answer is None:
            return None
        try:
            message = {"content": answer} if isinstance(answer, str) else answer
            found = openai_chat.answer(message, request)
        except (UsageError, ValueError) as error:
            raise _unfit(error) from None
        return {**found, "model": found["model"] or self.model}


SamplingOption = Union[SamplingHandler, Sampling, SamplingModel, Mapping[str, Any]]
"""A function, or one of the records; a mapping has the fields of a `SamplingModel`."""


class SamplingAnswerer:
    """Answers ``sampling/createMessage``."""

    method = "sampling/createMessage"
    capability = "sampling"

    def __init__(self, option: SamplingOption) -> None:
        self._sampling = _sampling_of(option)

    @property
    def settings(self) -> dict[str, Any]:
        supported = {"tools": self._sampling.tools, "context": self._sampling.context}
        return {name: {} for name, is_supported in supported.items() if is_supported}

    async def answer(self, params: Mapping[str, Any], server: str) -> dict[str, Any]:
        request = SamplingRequest(params, server)
        sampling.check_request(request, tools=self._sampling.tools)
        answer = await ask(self.method, self._sampling.answer, request)
        if answer is None:
            raise HandlerFailed(self.method, _REJECTION, _REJECTED)
        try:
            return sampling.result_of(answer)
        except ValueError as error:
            raise _unfit(error) from None


def _sampling_of(option: SamplingOption) -> Sampling:
    if isinstance(option, Mapping):
        try:
            option = SamplingModel(**option)
        except TypeError:
            raise UsageError(
                "sampling as a mapping has model, complete and, where supported, tools"
            ) from None
    if isinstance(option, SamplingModel):
        return Sampling(option.answer, tools=option.tools)
    if isinstance(option, Sampling):
        return option
    if not callable(option):
        raise UsageError(f"sampling is a function, or a model to ask, not {option!r}")
    return Sampling(option)


def _unfit(problem: Exception) -> HandlerFailed:
    return HandlerFailed(SamplingAnswerer.method, f"invalid sampling result: {problem}")


Root = Union[str, "os.PathLike[str]", Mapping[str, Any]]
"""A path, a ``file://`` URI, or a mapping with ``uri`` and, where wanted, ``name``."""

Roots = Iterable[Root]

RootsOption = Union[Roots, Callable[[], Union[Roots, Awaitable[Roots]]]]
"""The roots, or a function, plain or async, that returns them when the server asks."""

_HAS_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*://"


class RootsAnswerer:
    """Answers ``roots/list``."""

    method = "roots/list"
    capability = "roots"
    settings: Mapping[str, Any] = {}

    def __init__(self, roots: RootsOption) -> None:
        self.replace(roots)

    def replace(self, roots: RootsOption) -> None:
        """Replace the roots. Raises `UsageError` for one that is not a root."""
        self._roots: Callable[[], Any] | list[dict[str, Any]] = (
            roots if callable(roots) else _wire_roots(roots)
        )

    async def answer(self, params: Mapping[str, Any], server: str) -> dict[str, Any]:
        if not callable(self._roots):
            return {"roots": self._roots}
        try:
            return {"roots": _wire_roots(await ask(self.method, self._roots))}
        except HandlerFailed:
            raise
        except UsageError as error:
            raise HandlerFailed(self.method, "what its handler returned is not a root") from error


def _wire_roots(roots: object) -> list[dict[str, Any]]:
    if isinstance(roots, (str, os.PathLike, Mapping)):
        raise UsageError(f"roots are a list: write roots=[{roots!r}]")
    if not isinstance(roots, Iterable):
        raise UsageError(f"roots are a list of paths or URIs, not {roots!r}")
    return [_wire_root(root) for root in roots]


def _wire_root(root: object) -> dict[str, Any]:
    if isinstance(root, Mapping):
        uri = root.get("uri")
        if not isinstance(uri, str):
            raise UsageError(f"a root has a uri: {root!r}")
        return {**root, "uri": _checked_uri(uri)}
    if isinstance(root, str) and re.match(_HAS_SCHEME, root):
        return {"uri": _checked_uri(root)}
    if isinstance(root, (str, os.PathLike)):
        from pathlib import Path

        return {"uri": Path(absolute_path(root)).as_uri()}
    raise UsageError(f"a root is a path, a file:// URI or a mapping with a uri, not {root!r}")


def _checked_uri(uri: str) -> str:
    """Return the URI of a root: a ``file://`` URI without ``..`` in it ("Security", roots)."""
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(uri)
    if parts.scheme.lower() != "file":
        raise UsageError(f"the URI of a root begins with file://: {uri!r}")
    if ".." in unquote(parts.path).replace("\\", "/").split("/"):
        raise UsageError(f"the URI of a root has no .. in it: {uri!r}")
    return uri
