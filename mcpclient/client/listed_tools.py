"""The tools that the caller has listed: their definitions, and checks of their results."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable

from ..errors import McpError, ProtocolViolation, UsageError
from ..framing.logs import logger_for
from ..net.clocks import steady_seconds
from ..protocol.types import CallToolResult, Tool, task_support_of
from .events.callbacks import Observer

if TYPE_CHECKING:
    from ..protocol.header_parameters import HeaderParameters
    from ..protocol.schema import Schema, SchemaLimits
    from ..recording.secret_arguments import SecretArguments


_logger = logger_for("mcpclient.client")

MODES = ("warn", "strict", "off")

# The most violations of a schema that a warning names.
_NAMED = 3

# Seconds that may be wasted on checks that reach their limit, with the event loop blocked. After
# that each check gets a fraction of its limit, enough for any schema that is not malicious.
_MAX_WASTED = 0.5
_HURRY = 0.01


class ListedTools(Observer):
    """The tools that the caller has listed.

    Their definitions count until the server says that its tools have changed, and everything else
    until the next list. The result of a tool that the caller has not listed is not checked.

    ``mode``: ``"warn"``, ``"strict"`` or ``"off"``; ``limits``: how much checking one result may
    cost. ``are_stale``: whether there has been no list since a change. ``only_tasks``: the names of
    those that can be called as a task only: no other call can succeed. ``secret_schemas``: the
    input schemas of those with arguments that they mark as secret. ``schemas``: the output schemas
    of those whose results are checked.
    """

    def __init__(self, mode: str = "warn", limits: SchemaLimits | None = None) -> None:
        if mode not in MODES:
            raise UsageError(f'validate is "warn", "strict" or "off", not {mode!r}')
        if mode == "strict":
            from ..protocol import schema  # noqa: F401 - else a copy without it fails after the call
        self._mode = mode
        self._limits = limits
        self._definitions: dict[str, Tool] = {}
        self.only_tasks: frozenset[str] = frozenset()
        self.secret_schemas: dict[str, Any] = {}
        self.schemas: dict[str, object] = {}
        self.are_stale: bool = True
        self._changes = 0
        self._compiled: dict[str, Schema | str] = {}
        self._wasted = 0.0

    def learning(self, tools: Iterable[Tool], *, is_more: bool = False) -> Iterator[None]:
        """Remember a list in steps; the last replaces the one before, or adds to it.

        Of two tools with one name, the first counts. Schemas that have not changed stay compiled.
        """
        from ..protocol.json_schema import marks_secrets

        changes = self._changes
        before = self if is_more else ListedTools()
        definitions, secret_schemas = {**before._definitions}, {**before.secret_schemas}
        only_tasks, schemas = {*before.only_tasks}, {**before.schemas}
        for tool in tools:
            yield
            name = tool.name
            if definitions.setdefault(name, tool) is not tool:
                continue
            if task_support_of(tool.raw) == "required":
                only_tasks.add(name)
            given, returned = tool.raw.get("inputSchema"), tool.output_schema
            if marks_secrets(given):
                secret_schemas[name] = given
            if returned is not None:
                schemas[name] = returned
        self.are_stale = changes != self._changes
        self._definitions, self.secret_schemas = definitions, secret_schemas
        self.only_tasks = frozenset(only_tasks)
        if self._mode == "off":
            return
        self._compiled = {
            name: compiled
            for name, compiled in self._compiled.items()
            if name in schemas and _is_same(schemas[name], self.schemas[name])
        }
        self.schemas = schemas

    def find(self, name: str) -> Tool | None:
        """Return the definition of a tool; None where it is not known, or may have changed."""
        return None if self.are_stale else self._definitions.get(name)

    def conceal(self, name: str, arguments: Any) -> SecretArguments | None:
        """Return arguments whose ``repr`` does not show those that the tool marks as secret.

        None where it marks none, for a call that is guarded already, and for a mistake.
        """
        schema = self.secret_schemas.get(name)
        is_guarded = getattr(arguments, "is_guarded", False)
        if schema is None or is_guarded or not isinstance(arguments, Mapping):
            return None
        from ..recording.secret_arguments import SecretArguments

        return SecretArguments(arguments, schema)

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "notifications/tools/list_changed":
            self.are_stale = True
            self._changes += 1

    async def checked(
        self, tool: str, raw: Mapping[str, Any], relist: Callable[[], Awaitable[object]]
    ) -> CallToolResult:
        """Return a result as `check` leaves it.

        ``relist``: called before strict mode fails a call over a schema that may be out of date.
        """
        result = CallToolResult(raw)
        if tool not in self.schemas:
            return result
        try:
            self.check(tool, result)
        except ProtocolViolation:
            if not self.are_stale:
                raise
            with suppress(McpError):  # then the schema that is known decides
                await relist()
            result = CallToolResult(raw)
            self.check(tool, result)
        return result

    def check(self, tool: str, result: CallToolResult) -> None:
        """Add a warning to a result that does not fit the output schema of its tool.

        In strict mode raises `ProtocolViolation` instead. The result of a failed tool is not
        checked. A schema that cannot be used, and a check over the limits, are only ever a warning.
        """
        if tool not in self.schemas or result.is_error:
            return
        try:
            schema = self._schema_of(tool)
        except UsageError as error:  # this copy lacks the part; the server has run the tool
            self._mode, self.schemas = "off", {}
            schema = f"results are not checked: {error}"
        if isinstance(schema, str):
            result.warnings.append(schema)
            return
        began = steady_seconds()
        try:
            problem = _problem(schema, result)
        except McpError as error:
            self._wasted += steady_seconds() - began
            if self._wasted > _MAX_WASTED:
                self._compiled.pop(tool, None)  # compiled again with less time
            result.warnings.append(f"the result of tool {tool!r} was {error}")
            return
        if problem is None:
            return
        text = f"tool {tool!r} broke its output schema: {problem}"
        if self.are_stale:
            text += " (it may be out of date: the tools have changed since they were listed)"
        if self._mode == "strict":
            raise ProtocolViolation(text)
        _logger.debug("%s", text)
        result.warnings.append(text)

    def _schema_of(self, tool: str) -> Schema | str:
        """Return the compiled schema, or the reason why it cannot be used."""
        compiled = self._compiled.get(tool)
        if compiled is None:
            from ..protocol.schema import SchemaLimits, compile_schema

            began = steady_seconds()
            limits = self._limits or SchemaLimits()
            if self._wasted > _MAX_WASTED:
                hurry = min(limits.seconds, _HURRY)
                limits = SchemaLimits(**{**vars(limits), "seconds": hurry})
            try:
                compiled = compile_schema(self.schemas[tool], clock=steady_seconds, limits=limits)
            except McpError as error:
                self._wasted += steady_seconds() - began
                compiled = f"the output schema of tool {tool!r} was not checked: {error}"
                _logger.debug("%s", compiled)
            self._compiled[tool] = compiled
        return compiled


def _is_same(schema: object, other: object) -> bool:
    try:
        return schema == other
    except RecursionError:
        return False


def _problem(schema: Schema, result: CallToolResult) -> str | None:
    if "structuredContent" not in result.raw:
        return "there is no structured content"
    violations = schema.validate(result.structured)
    named = "; ".join(str(violation) for violation in violations[:_NAMED])
    more = len(violations) - _NAMED
    return f"{named}; and {more} more" if more > 0 else named or None


def checked_arguments(arguments: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the arguments of a call; raise `UsageError` for those that are not a JSON object."""
    if arguments is None:
        return {}
    if type(arguments) is not dict and not isinstance(arguments, Mapping):
        kind = type(arguments).__name__
        raise UsageError(f'arguments are a mapping such as {{"name": "value"}}, not {kind}')
    for name in arguments:
        if not isinstance(name, str):
            raise UsageError(f"the names of arguments are strings, not {type(name).__name__}")
    return arguments


def learn_headers(mirrored: HeaderParameters, tool: Mapping[str, Any]) -> bool:
    """Learn the header parameters of a tool; return False for one that must be left out."""
    try:
        mirrored.learn(tool)
    except ValueError as error:
        _logger.warning("left out tool %r: %s", tool.get("name"), error)
        return False
    return True
