"""The judgement of a connection's messages, one after the other.

Sources: the published schemas (see `published`); of revisions 2025-11-25 and 2026-07-28 the pages
"Overview", "Progress", "Logging", "Tools" and "Elicitation".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from ...errors import McpError
from ..json_schema import pointer_tokens
from ..schema import Schema, Violation, compile_schema
from ..wire_object import object_in, value_at
from . import Fault, fault
from .lists import LISTS, name_faults
from .published import revision as published
from .published import schema_of, telling_params, validated

_PREFIX = "io.modelcontextprotocol/"
_MAX_PENDING = 10_000

# The least severe level first.
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

# What a notification or a request needs: the side that declares it, and the member of its
# capabilities.
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "notifications/message": ("logging",),
    "notifications/tools/list_changed": ("tools", "listChanged"),
    "notifications/prompts/list_changed": ("prompts", "listChanged"),
    "notifications/resources/list_changed": ("resources", "listChanged"),
    "notifications/resources/updated": ("resources", "subscribe"),
    "sampling/createMessage": ("sampling",),
    "elicitation/create": ("elicitation",),
    "roots/list": ("roots",),
}


class Asked(NamedTuple):
    """A request. ``tag``: what the caller of `Judge` wants to find again."""

    method: str
    params: Mapping[str, Any]
    tag: Any
    revision: str = ""


class Judge:
    """The judge of one connection.

    `sent` and `received` are given each message in order, and return the request that a response
    belongs to. ``is_whole``: no request was sent before the first message taken here.
    """

    def __init__(self) -> None:
        self.revision: str = ""
        self.is_whole: bool = True
        self._declared: Mapping[str, Any] | None = None  # None until the server has declared
        self._answers: Mapping[str, Any] = {}  # the client's capabilities
        self._level = ""
        # The latest requests of each side by id; None once there is an answer.
        self._ours: dict[str, Asked | None] = {}
        self._theirs: dict[str, Asked | None] = {}
        self._progress: dict[str, float | None] = {}  # the last value, by pending token
        self._log_levels: dict[str, str] = {}  # that pending requests ask for, by id
        self._outputs: dict[str, Any] = {}  # the schemas of structured content, by tool
        self._names: dict[str, set[str]] = {}
        # The shapes of notifications that match their schema, as a server may send thousands alike,
        # and whether there is nothing else to look at in them.
        self._matching: dict[int, bool] = {}

    def sent(self, message: Any, tag: Any = None) -> Asked | None:
        """Register a message of the client; return the request of the server that it answers."""
        if not isinstance(message, dict):
            return None
        method, identity = message.get("method"), repr(message.get("id"))
        if not isinstance(method, str):
            asked = self._theirs.get(identity)
            self._theirs[identity] = None
            return asked
        if "id" not in message:
            return None
        params = object_in(message.get("params"))
        meta = object_in(params.get("_meta"))
        version, answers = (
            meta.get(_PREFIX + key) for key in ("protocolVersion", "clientCapabilities")
        )
        if method == "initialize":
            version, answers = params.get("protocolVersion"), params.get("capabilities")
        if isinstance(answers, dict):
            self._answers = answers
        spoken = version if isinstance(version, str) else self.revision
        if "progressToken" in meta:
            _remember(self._progress, repr(meta["progressToken"]), None)
        if isinstance(meta.get(_PREFIX + "logLevel"), str):
            _remember(self._log_levels, identity, meta[_PREFIX + "logLevel"])
        _remember(self._ours, identity, Asked(method, params, tag, spoken))
        return None

    def received(self, message: Any, tag: Any = None) -> tuple[Asked | None, list[Fault]]:
        """Judge a message of the server; return the request that it answers, and the faults."""
        shape = _shape_of(message, self.revision)
        if shape is not None and shape in self._matching:
            return None, [] if self._matching[shape] else list(self._undeclared(message))
        text = envelope_fault(message)
        if not isinstance(message, dict):
            return None, [fault("not-json-rpc", text, self.revision)]
        method = message.get("method")
        if isinstance(method, str) and "id" in message:
            _remember(self._theirs, repr(message["id"]), Asked(method, {}, tag))
        if text:
            is_response = "id" in message and "method" not in message
            asked = self._response({**message, "error": {}})[0] if is_response else None
            return asked, [fault("not-json-rpc", text, self.revision)]
        if method is None:
            return self._response(message)
        found, undeclared = list(self._message(message)), list(self._undeclared(message))
        if shape is not None and not found:
            _remember(self._matching, shape, not undeclared and not self._varies(method))
        return None, [*found, *undeclared]

    # Responses

    def _response(self, message: Mapping[str, Any]) -> tuple[Asked | None, list[Fault]]:
        identity = repr(message["id"])
        asked = self._ours.get(identity)
        if asked is None:
            is_known = identity in self._ours
            # An error whose request could not be read has null.
            if message["id"] is None or not (is_known or self.is_whole):
                return None, []
            times = "answered before" if is_known else "unknown"
            text = f"its id {identity[:40]} was {times}"
            return None, [fault("response-id", text, self.revision)]
        self._ours[identity] = None
        self._log_levels.pop(identity, None)
        result = message.get("result")
        is_task = isinstance(result, dict) and (
            "task" in result or result.get("resultType") == "task"
        )
        if not is_task:  # whose token is valid until the task ends
            self._progress.pop(repr(value_at(asked.params, ("_meta", "progressToken"))), None)
        if "error" in message:
            return asked, []
        if asked.method == "logging/setLevel":
            self._level = str(asked.params.get("level"))
            self._matching.clear()
        elif asked.method in ("initialize", "server/discover"):
            self._opened(object_in(result), asked)
        return asked, list(self._result(asked, result))

    def _opened(self, result: Mapping[str, Any], asked: Asked) -> None:
        agreed = result.get("protocolVersion", asked.revision)
        self.revision = agreed if isinstance(agreed, str) else ""
        capabilities = result.get("capabilities")
        self._declared = capabilities if isinstance(capabilities, dict) else None
        self._matching.clear()

    def _result(self, asked: Asked, result: Any) -> Iterator[Fault]:
        revision = (
            self.revision if asked.method == "initialize" else asked.revision or self.revision
        )
        rules = published(revision)
        if not isinstance(result, dict):
            yield fault("result", "the result is not an object", revision)
            return
        if asked.method == "server/discover" and "supportedVersions" not in result:
            return  # of a server that answers anything, and speaks the handshake
        kind = result.get("resultType", "complete")
        definition = rules.get("results", {}).get(asked.method, "Result")
        if kind == "input_required":
            definition = "InputRequiredResult"
        elif "task" in asked.params and "task" in result:
            definition = "CreateTaskResult"
        elif kind == "task":
            return  # of an extension, which the schemas do not describe
        yield from _violations(revision, definition, result, "result", "result")
        if definition == "InputRequiredResult":
            for each in object_in(result.get("inputRequests")).values():
                yield from self._unsupported(object_in(each), revision)
        elif asked.method == "tools/call" and definition == "CallToolResult":
            yield from self._structured(asked, result, revision)
        elif asked.method in LISTS:
            yield from self._listed(asked, result, revision)

    def _structured(
        self, asked: Asked, result: Mapping[str, Any], revision: str
    ) -> Iterator[Fault]:
        output = self._outputs.get(str(asked.params.get("name")))
        schema = _compiled(output) if isinstance(output, dict) else None
        if schema is None or result.get("isError") is True:
            return
        if "structuredContent" not in result:
            text = "the tool declares an output schema, and the result has no structuredContent"
            yield fault("structured-content", text, revision)
            return
        place = "result.structuredContent"
        for violation in validated(schema, result["structuredContent"]):
            yield fault("output-schema", _placed(place, violation), revision)

    def _listed(self, asked: Asked, result: Mapping[str, Any], revision: str) -> Iterator[Fault]:
        key = LISTS[asked.method].key
        entries = result.get(key)
        if not isinstance(entries, list):
            return
        if "cursor" not in asked.params:
            self._names[key] = set()
        seen = self._names.setdefault(key, set())
        for index, found in name_faults(key, entries, revision, seen):
            yield found._replace(text=f"result.{key}[{index}].{found.text}")
        member = ("$defs", "Tool", "properties", "outputSchema")
        if key == "tools" and value_at(published(revision), member) is not None:
            for tool in entries:
                if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                    self._outputs[tool["name"]] = tool.get("outputSchema")

    # Notifications and requests

    def _message(self, message: Mapping[str, Any]) -> Iterator[Fault]:
        rules, method = published(self.revision), message["method"]
        kind = "requests" if "id" in message else "notifications"
        definition = rules.get(kind, {}).get(method)
        if definition is not None:
            yield from _violations(self.revision, definition, message, "", "message")
        elif rules and "id" in message and method != "ping":
            text = f"servers send no request {method[:60]!r} in this revision"
            yield fault("message", text, self.revision)

    def _undeclared(self, message: Mapping[str, Any]) -> Iterator[Fault]:
        method, params = message["method"], object_in(message.get("params"))
        if "id" in message:
            yield from self._unsupported(message, self.revision)
            return
        needs = _NEEDS.get(method)
        if needs and self._declared is not None:
            declared = value_at(self._declared, needs)
            if declared is None or declared is False:
                text = f"{method} needs the capability {'.'.join(needs)}, which is not declared"
                yield fault("undeclared", text, self.revision)
        if method == "notifications/progress":
            yield from self._progressed(params)
        elif method == "notifications/message":
            yield from self._logged(params)

    def _varies(self, method: str) -> bool:
        """Whether requests of the client decide whether a notification is a fault."""
        rules = published(self.revision)
        are_logs_asked_for = bool(self._level or (rules and not rules["requests"]))
        is_log = method == "notifications/message"
        return method == "notifications/progress" or (is_log and are_logs_asked_for)

    def _unsupported(self, question: Mapping[str, Any], revision: str) -> Iterator[Fault]:
        method = question.get("method")
        needs = _NEEDS.get(method) if isinstance(method, str) else None
        if not needs or not self.is_whole:
            return
        mode = object_in(question.get("params")).get("mode")
        if mode == "url":
            needs = (*needs, "url")
        if value_at(self._answers, needs) is None:
            text = f"{method} needs {'.'.join(needs)}, which the client has not declared"
            yield fault("unsupported", text, revision)

    def _progressed(self, params: Mapping[str, Any]) -> Iterator[Fault]:
        token, progress = repr(params.get("progressToken")), params.get("progress")
        if token not in self._progress:
            if self.is_whole:
                text = f"the progress token {token[:40]} belongs to no pending request"
                yield fault("progress", text, self.revision)
            return
        last = self._progress[token]
        if isinstance(progress, (int, float)) and not isinstance(progress, bool):
            if last is not None and progress <= last:
                text = f"the progress {progress} does not exceed {last}, which came before"
                yield fault("progress", text, self.revision)
            self._progress[token] = progress

    def _logged(self, params: Mapping[str, Any]) -> Iterator[Fault]:
        level = params.get("level")
        asked = [self._level] if self._level else []
        rules = published(self.revision)
        if rules and not rules["requests"]:
            asked = [*self._log_levels.values()]
            if not asked and self.is_whole:
                yield fault("log-level", "no pending request asked for log messages", self.revision)
        if not asked:
            return
        ranks = [LEVELS.index(each) for each in asked if each in LEVELS]
        if ranks and level in LEVELS and LEVELS.index(level) < min(ranks):
            text = f"the level {level} is below {LEVELS[min(ranks)]}, which was asked for"
            yield fault("log-level", text, self.revision)


def envelope_fault(message: Any) -> str:
    """Return the violation of JSON-RPC in a message by itself; an empty string without one."""
    if not isinstance(message, dict):
        return "it is not a JSON object"
    if not {"jsonrpc", "id", "method", "result", "error"} & message.keys():
        return "it is not a JSON-RPC message"
    if message.get("jsonrpc") != "2.0":
        return 'it has no "jsonrpc": "2.0"'
    identity = message.get("id", "")
    is_id = isinstance(identity, (int, str)) and not isinstance(identity, bool)
    # An error whose request could not be read has null.
    if not is_id and (identity is not None or "error" not in message):
        return "its id is neither a string nor an integer"
    if "method" in message:
        if not isinstance(message["method"], str):
            return "its method is not a string"
        if not isinstance(message.get("params", {}), dict):
            return "its params are not an object"
        return "it has a method and a result" if {"result", "error"} & message.keys() else ""
    if "id" not in message:
        return "it has neither a method nor an id"
    if ("result" in message) == ("error" in message):
        return f"it has {'both' if 'result' in message else 'neither'} result and error"
    error = message.get("error", {"message": "", "code": 0})
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return "its error has no message"
    code = error.get("code")
    is_code = isinstance(code, int) and not isinstance(code, bool)
    return "" if is_code else "its error has no integer as its code"


def _shape_of(message: Any, revision: str) -> int | None:
    """Return a hash that is equal for notifications of which all or none match their schema.

    None where that depends on more than types and a few values.
    """
    params = message.get("params") if isinstance(message, dict) else None
    method = message.get("method") if isinstance(params, dict) else None
    if not isinstance(params, dict) or not isinstance(method, str) or "id" in message:
        return None
    telling = telling_params(revision, method)
    if telling is None:
        return None
    told, types = map(params.get, telling), tuple(map(type, params.values()))
    try:
        return hash(
            (revision, method, message.get("jsonrpc"), *message, tuple(params), types, *told)
        )
    except TypeError:  # a telling value has members
        return None


_K = TypeVar("_K")
_T = TypeVar("_T")


def _remember(latest: dict[_K, _T], key: _K, value: _T) -> None:
    if len(latest) >= _MAX_PENDING:
        del latest[next(iter(latest))]
    latest[key] = value


def _compiled(schema: Mapping[str, Any]) -> Schema | None:
    try:
        return compile_schema(schema)
    except (McpError, ValueError):
        return None  # that is a fault of the list


def _violations(
    revision: str, definition: str, value: Any, place: str, code: str
) -> Iterator[Fault]:
    schema = schema_of(revision, definition)
    for violation in validated(schema, value) if schema is not None else ():
        page = f"schema#{definition.lower()}"
        yield fault(code, _placed(place, violation), revision, page)


def _placed(place: str, violation: Violation) -> str:
    """Return a violation with its place: ``result.content[0]: …``."""
    for name in pointer_tokens(violation.instance_path):
        place += f"[{name}]" if name.isdecimal() else f".{name}" if place else name
    return f"{place or 'the message'}: {violation.message}"
