"""Questions of a server, asked in the terminal: forms, visits to a URL, answers of a model."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from textwrap import wrap
from typing import Any, Callable, NamedTuple, TypeVar

from ..client.answers.answerers import accept_defaults, form_problem
from ..client.connection.target_names import short_name
from ..errors import UsageError
from ..framing.escaping import escape, escape_line
from ..net.clocks import steady_seconds
from ..net.login.browser import open_browser
from ..net.login.terminal import Terminal
from ..net.process.programs import run_program
from ..protocol.elicitation import ElicitationRequest
from ..protocol.sampling import SamplingRequest
from ..protocol.schema_properties import properties_of
from ..protocol.wire_object import string_at, strings_in
from .arguments import typed_value
from .command import Server
from .layout import one_line
from .screen import Screen, ScreenTerminal

Answer = TypeVar("Answer")


class Choice(NamedTuple):
    """A value that a field may have, with its title."""

    value: Any
    title: str


_KINDS = {
    "array": "several, with commas",
    "boolean": "yes or no",
    "integer": "whole number",
    "number": "number",
}


@dataclass(frozen=True)
class Field:
    """One field of a form. ``schema`` is as the server sent it."""

    name: str
    schema: Mapping[str, Any]
    required: bool = False

    @property
    def kind(self) -> str:
        """The kind of input in a word or two."""
        kind = self.schema.get("type")
        if kind == "string" and isinstance(self.schema.get("format"), str):
            return one_line(self.schema["format"])
        return _KINDS.get(str(kind), "text")

    @property
    def title(self) -> str:
        """The title or else the name, escaped."""
        return one_line(string_at(self.schema, "title") or self.name)

    @property
    def choices(self) -> list[Choice]:
        """The values to choose from, if any, in the spelling of any revision (SEP-1330)."""
        schema = self.schema.get("items") if self.schema.get("type") == "array" else self.schema
        if not isinstance(schema, Mapping):
            return []
        values, names = schema.get("enum"), schema.get("enumNames")
        if isinstance(values, list):
            titles = names if isinstance(names, list) and len(names) == len(values) else values
            return [Choice(value, str(title)) for value, title in zip(values, titles)]
        for key in ("oneOf", "anyOf"):
            options = schema.get(key)
            options = options if isinstance(options, list) else []
            choices = [each for each in options if isinstance(each, Mapping) and "const" in each]
            if options and len(choices) == len(options):
                return [
                    Choice(each["const"], str(each.get("title", each["const"]))) for each in choices
                ]
        return []

    def question(self) -> list[str]:
        """Return the lines of the question, escaped."""
        bounds = [
            f"{word} {self.schema[key]}"
            for word, key in (("from", "minimum"), ("to", "maximum"))
            if self.schema.get(key) is not None
        ]
        about = [self.kind, "" if self.required else "optional", one_line(" ".join(bounds))]
        lines = [f"{self.title} ({', '.join(filter(None, about))})"]
        description = string_at(self.schema, "description")
        lines += [f"  {one_line(description)}"] if description else []
        lines += [f"  {n}. {one_line(c.title)}" for n, c in enumerate(self.choices, 1)]
        if "default" in self.schema:
            lines[-1] += f"  [{one_line(self.shown(self.schema['default']))}]"
        return lines

    def value(self, text: str) -> Any:
        """Convert typed text to a value; None for empty text where that is allowed.

        Raises `ValueError`, with the problem in words.
        """
        from ..protocol.schema import violations_of

        text = text.strip()
        if not text and "default" not in self.schema:
            if self.required:
                raise ValueError("it is needed")
            return None
        value = self._typed(text) if text else self.schema["default"]
        violations = violations_of(value, self.schema, clock=steady_seconds, assert_formats=True)
        if violations:
            raise ValueError(one_line(violations[0].message))
        return value

    def _typed(self, text: str) -> Any:
        choices, kind = self.choices, self.schema.get("type")
        if choices and kind == "array":
            return [_chosen(part, choices) for part in map(str.strip, text.split(",")) if part]
        if choices:
            return _chosen(text, choices)
        if kind == "boolean":
            text = {"y": "yes", "n": "no"}.get(text.lower(), text)
        try:
            return typed_value(self.name, text, self.schema, self.schema)
        except UsageError:
            raise ValueError(f"needed: {self.kind}") from None

    def shown(self, value: Any) -> str:
        """Return a value as the user would type it."""
        values = value if isinstance(value, list) else [value]
        titles = {repr(choice.value): choice.title for choice in self.choices}
        if isinstance(value, bool):
            return "yes" if value else "no"
        return ", ".join(titles.get(repr(value), str(value)) for value in values)


def fields_of(schema: Mapping[str, Any]) -> list[Field]:
    """Return the fields of a form's schema, in its order."""
    needed = strings_in(schema.get("required"))
    return [Field(name, each, name in needed) for name, each in properties_of(schema).items()]


def _chosen(text: str, choices: Sequence[Choice]) -> Any:
    for choice in choices:
        if text in (str(choice.value), choice.title):
            return choice.value
    if text.isascii() and text.isdigit() and 1 <= int(text) <= len(choices):
        return choices[int(text) - 1].value
    raise ValueError(f"type a number from 1 to {len(choices)}, or one of the names")


_HOW = "Enter takes the [default]; /back goes back; /decline says no, /cancel says nothing."
_REVIEW = "Send this? [Y/cancel, or the number of a field to change]"
# The least width of a server's words beside its name, in columns.
_MIN_QUOTED = 20
_BACK, _DECLINE, _CANCEL = "/back", "/decline", "/cancel"


class _Left(Exception):
    """The user left the form. Its argument is the result of the handler."""


class Asking:
    """Answers the questions of servers, one at a time.

    ``choice``: ``"ask"``: the user answers; without a terminal, questions are declined.
    ``"accept"``: forms get their defaults. ``"decline"``. The user sees every automatic answer.

    ``model``: a program and its arguments that answers in place of a language model. It reads the
    question on stdin. Without one the user is asked.

    ``server``: the only server that asks. None: several may ask, and each request names its own.

    ``turn`` is held while the terminal is read; other readers of it share this lock.
    """

    def __init__(
        self,
        screen: Screen,
        choice: str,
        terminal: Terminal | None = None,
        *,
        model: Sequence[str] = (),
        server: Server | None = None,
    ) -> None:
        self._screen = screen
        self._choice = choice
        self._model = model
        self._server = server
        self._terminal = terminal or ScreenTerminal(screen)
        self._reading: asyncio.Future[str] | None = None

    @cached_property
    def turn(self) -> asyncio.Lock:
        """The lock that lets one question be asked at a time."""
        return asyncio.Lock()  # lazily: before Python 3.10 a lock binds to a loop at once

    async def form(self, request: ElicitationRequest) -> Mapping[str, Any] | bool | None:
        """Ask for a form's fields; return its content, False (declined) or None (cancelled)."""
        self._quote(request.server, "asks:", request.message)
        if self._choice == "accept":
            defaults = accept_defaults(request)
            problem = form_problem(request, defaults)
            if problem is not None:
                self._screen.say(f"declined: its defaults do not fit (--elicit accept): {problem}")
                return False
            self._screen.say("accepted with its defaults (--elicit accept)")
            return defaults
        answer: Mapping[str, Any] | bool | None = await self._ask(partial(self._fill_in, request))
        return answer

    async def visit(self, request: ElicitationRequest) -> bool | None:
        """Show the full URL with its host marked, and open it only if the user agrees."""
        self._quote(request.server, "asks:", request.message)
        url, host = escape_line(request.url or ""), escape_line(request.host)
        marked = self._screen.error_style.bold(host)
        self._screen.say_safely(f"  {url.replace(host, marked, 1) if host else url}")
        self._screen.say_safely(f"  host: {marked}")
        for warning in request.url_warnings:
            self._screen.say(f"  careful: {warning}")
        agreed = await self._ask(partial(self._agree, "Open it in the browser? [y/N/cancel]"))
        if agreed and not await open_browser(request.url or ""):
            self._screen.say("No browser is available: open the address yourself.")
        return agreed

    async def sample(self, request: SamplingRequest) -> str | Mapping[str, str] | None:
        """Show a question to a language model; return the answer of the program or of the user."""
        asked = [f"system: {request.system_prompt}"] if request.system_prompt else []
        asked += [f"{message.role}: {message.text or '(no text)'}" for message in request.messages]
        self._quote(request.server, "asks a language model:", "\n".join(["", *asked]))
        if self._model:
            return await self._answer_of_program(request)
        answer = await self._ask(self._read_answer)
        return answer if isinstance(answer, str) else None

    async def _answer_of_program(self, request: SamplingRequest) -> Mapping[str, str] | None:
        texts = [message.text or "" for message in request.messages]
        if len(texts) > 1:
            texts = [f"{message.role}: {message.text}" for message in request.messages]
        question = "\n\n".join(filter(None, [request.system_prompt, *texts])) + "\n"
        finished = await run_program(self._model, question.encode())
        if finished.returncode:
            self._screen.say(
                f"declined: {self._model[0]} ended with exit code {finished.returncode}"
            )
            return None
        answer = finished.stdout.decode("utf-8", "replace").strip()
        self._screen.say(f"  assistant: {answer}")
        # Only the program knows its model; its arguments may be secret.
        return {"content": answer, "model": os.path.basename(self._model[0])}

    def leave(self) -> None:
        """Cancel the question at hand, if any, as ``/cancel`` does."""
        if self._reading is not None:
            self._reading.cancel()

    def _quote(self, server: str, asks: str, text: str) -> None:
        """Show a server's question, each line after its name: it cannot imitate our own output."""
        name = self._name_of(server)
        columns = self._screen.error_style.columns or sys.maxsize
        # The terminal must not wrap a line: its second half would lack the name.
        width = max((columns - len(name) - 3) // (1 if text.isascii() else 2), _MIN_QUOTED)
        first, *lines = escape(text).split("\n")
        first, *more = wrap(f"{asks} {first}", width) or [asks]
        lines = more + [part for line in lines for part in wrap(line, width) or [""]]
        self._screen.say_safely("\n".join([f"{name} {first}", *(f"{name} | {x}" for x in lines)]))

    def _name_of(self, server: str) -> str:
        """Return the name, the URL or the script by which the user knows a server."""
        only = self._server
        if only is None or "name" in only.options or "://" in server:
            return one_line(server)
        is_command = isinstance(only.target, (str, list))
        return one_line(short_name(only.target) if is_command else server)

    async def _ask(self, question: Callable[[], Awaitable[Answer]]) -> Answer | bool | None:
        """Return the user's answer: False is a refusal, also without a user, None a cancelling."""
        if self._choice != "ask" or not self._terminal.is_interactive:
            why = (
                "--elicit decline"
                if self._choice == "decline"
                else "there is no terminal to ask in"
            )
            self._screen.say(f"declined: {why}")
            return False
        if self.turn.locked():
            self._screen.say("Something else is being typed; Enter gets to this question.")
        async with self.turn:
            with self._screen.status.paused():
                try:
                    return await question()
                except _Left as left:
                    answer: bool | None = left.args[0]
                    return answer

    async def _line(self, prompt: str, at_end: str = _CANCEL) -> str:
        """Return a typed line, at the end of the input ``at_end``.

        Raises `_Left` for ``/cancel`` and ``/decline``.
        """
        self._screen.say_safely(prompt)
        reading = self._reading = asyncio.ensure_future(self._terminal.read_line())
        try:
            await asyncio.wait({reading})
            line = reading.result()
        except EOFError:
            line = at_end
        except asyncio.CancelledError:
            if reading.cancelled():
                raise _Left(None) from None
            raise
        finally:
            self._reading = None
            reading.cancel()
        if line.lower() in (_CANCEL, _DECLINE):
            raise _Left(None if line.lower() == _CANCEL else False)
        return line

    async def _read_answer(self) -> str:
        self._screen.say(f"Answer in its place; an empty line ends it, {_DECLINE} says no.")
        lines: list[str] = []
        while True:
            line = await self._line(">", "" if lines else _CANCEL)
            if not line:
                return "\n".join(lines)
            lines.append(line)

    async def _fill_in(self, request: ElicitationRequest) -> Mapping[str, Any] | bool | None:
        fields = fields_of(request.schema)
        if not fields:
            return await self._agree("Agree? [y/N/cancel]")
        self._screen.say(_HOW)
        content: dict[str, Any] = {}
        asked = fields
        while True:
            await self._ask_fields(asked, content)
            problem = form_problem(request, content)
            if problem is not None:
                self._screen.say(f"That does not fit together: {problem}.")
            elif len(fields) == 1:
                return content
            changed = await self._reviewed(fields, content)
            if changed is None and problem is None:
                return content
            asked = [] if changed is None else [changed]

    async def _agree(self, prompt: str) -> bool | None:
        line = (await self._line(prompt)).lower()
        return None if line == "cancel" else line in ("y", "yes")

    async def _ask_fields(self, fields: Sequence[Field], content: dict[str, Any]) -> None:
        """Ask for fields one after the other. Earlier answers are the defaults."""
        index = 0
        while index < len(fields):
            field, known = fields[index], content.get(fields[index].name)
            if known is not None:
                field = replace(field, schema={**field.schema, "default": known})
            line = await self._line("\n".join(field.question()))
            if line == _BACK:
                index = max(index - 1, 0)
                continue
            try:
                content[field.name] = field.value(line)
            except ValueError as error:
                self._screen.say(f"  {error}")
            else:
                index += 1

    async def _reviewed(self, fields: Sequence[Field], content: Mapping[str, Any]) -> Field | None:
        """Show all answers; return the field that the user wants to change, None to send them."""
        for number, field in enumerate(fields, 1):
            value = content[field.name]
            shown = "(left out)" if value is None else one_line(field.shown(value))
            self._screen.say_safely(f"  {number}. {field.title}: {shown}")
        while True:
            line = await self._line(_REVIEW)
            if line.lower() == "cancel":
                raise _Left(None)
            if line.lower() in ("", "y", "yes"):
                return None
            if line.isascii() and line.isdigit() and 1 <= int(line) <= len(fields):
                return fields[int(line) - 1]
