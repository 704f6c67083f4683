"""Every exception of the library, in one tree.

::

    McpError
    ├── UsageError                 ours: the caller asked for something that cannot be done
    │   ├── ClientClosed             the client was closed, or closed while the call waited
    │   ├── HandlerFailed            a handler did not answer what the server asked
    │   ├── ServerUnavailable        a manager has the server, and does not connect it
    │   └── NotRecorded              a replay was asked for something it has no record of
    ├── NotChecked                 nobody's: a check took too long, so nothing is known
    ├── ServerError                theirs: the server answered, but not with a result
    │   ├── PeerError                a JSON-RPC error object
    │   │   └── UrlElicitationRequired   someone has to visit a URL before the call can be made
    │   ├── ToolError                a tool's own failure, when ``raise_on_error`` asked for it
    │   ├── ResultMismatch           a result is not of the type that ``returns`` asked for
    │   ├── TaskFailed               a task ended without giving its result
    │   ├── ProtocolViolation        bytes or messages that break the protocol
    │   │   ├── MessageTooLarge        a message over ``max_message_size``
    │   │   ├── NotOffered             the server asked for what the client does not offer
    │   │   ├── SchemaError            a JSON Schema that cannot be used
    │   │   ├── SkillVerificationError a skill that is not what its entry says
    │   │   └── TemplateError          a URI template that is malformed
    │   └── HttpError                an HTTP status that is not a success
    │       └── SessionExpired         404 for a session the server had issued
    ├── NetworkError               the network's or the operating system's
    │   ├── ConnectFailed            no connection was ever established
    │   │   ├── CommandNotFound        the server's command does not exist or may not be run
    │   │   └── ServersFailed          servers that a manager requires are not connected
    │   ├── ConnectionLost           an established connection ended
    │   │   └── ProcessExited          the server process ended
    │   └── CallTimeout              no answer in time; the server was told to stop
    └── AuthError                  authorization
        ├── AuthorizationRequired    a human has to visit a URL first
        ├── AuthorizationDenied      the user, or the authorization server, said no
        ├── RegistrationRequired     no way to become a client the authorization server knows
        ├── TokenRequestFailed       the token endpoint refused
        ├── InsufficientScope        more authorization would not help
        └── SsrfError                a URL named by a server points where it must not

Every exception keeps its facts in fields and builds its text from them, so a program never has to
parse a message. A refused call (`ServerError`) leaves the connection usable.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from .cures import cure_for
from .shown import shown_command, shown_url, shown_words

__all__ = [
    "AuthError",
    "AuthorizationDenied",
    "AuthorizationRequired",
    "CallTimeout",
    "ClientClosed",
    "CommandNotFound",
    "ConnectFailed",
    "ConnectionLost",
    "HandlerFailed",
    "HttpError",
    "InsufficientScope",
    "McpError",
    "MessageTooLarge",
    "NetworkError",
    "NotChecked",
    "NotOffered",
    "NotRecorded",
    "PeerError",
    "ProcessExited",
    "ProtocolViolation",
    "RegistrationRequired",
    "ResultMismatch",
    "SchemaError",
    "ServerError",
    "ServerUnavailable",
    "ServersFailed",
    "SessionExpired",
    "SkillVerificationError",
    "SsrfError",
    "TaskFailed",
    "TemplateError",
    "TokenRequestFailed",
    "ToolError",
    "UrlElicitationRequired",
    "UsageError",
]

AnyMcpError = TypeVar("AnyMcpError", bound="McpError")

# How much of an answer's body an exception's text shows; the field holds all that was kept.
_SHOWN_BODY = 500
# How many recorded requests the text of `NotRecorded` shows.
_SHOWN_PARAMS = 3


def shown(value: object, longest: int | None = 100) -> str:
    """Return a value as messages show it: cut where it is long, and however deep it is."""
    try:
        text = repr(value)
    except RecursionError:
        return f"<{type(value).__name__}, nested too deeply to be shown>"
    return text if longest is None or len(text) <= longest else f"{text[:longest]}…"


class McpError(Exception):
    """Root of every error this library raises on purpose.

    Fields of every one: ``cure``, one sentence that says what to do about it.
    """

    @property
    def cure(self) -> str:
        """What to do about it, in one sentence."""
        cure: str = self.__dict__.get("_cure") or cure_for(self)
        return cure

    def advise(self: AnyMcpError, cure: str) -> AnyMcpError:
        """Set what to do about it, where that is known better than for all of its kind."""
        self.__dict__["_cure"] = cure
        return self

    def __repr__(self) -> str:
        try:
            return super().__repr__()
        except RecursionError:  # a field has what a server sent
            return f"{type(self).__name__}({', '.join(shown(field) for field in self.args)})"

    def again(self: AnyMcpError) -> AnyMcpError:
        """Return a copy to raise again, so that every waiter gets a traceback of its own."""
        twin = copy.copy(self)
        twin.__cause__ = self.__cause__
        return twin


class UsageError(McpError):
    """The call cannot be made as asked: a wrong argument, or a value JSON cannot carry."""


class ClientClosed(UsageError):
    """The client is closed, or was closed while this call waited for its answer."""

    def __str__(self) -> str:
        return self.args[0] if self.args else "the client is closed; connect again to make calls"


class HandlerFailed(UsageError):
    """The server asked for something, and its handler gave no answer that can be sent.

    The handler raised (``__cause__`` is then its exception), returned a value that does not fit, or
    the user refused. Fields: ``method`` (what the server asked), ``reason``, and ``code``, the
    JSON-RPC error code sent to a server that waits for an answer.
    """

    def __init__(self, method: str, reason: str, code: int = -32603) -> None:
        super().__init__(method, reason, code)
        self.method = method
        self.reason = reason
        self.code = code

    def __str__(self) -> str:
        return f"the server's {self.method} was not answered: {self.reason}"


class ServerUnavailable(UsageError):
    """A call needs a server that its manager does not connect.

    Fields: ``server`` (its name), ``status`` (such as ``"disabled"`` or ``"closed"``) and
    ``reason``: why, and what to do about it.
    """

    def __init__(self, server: str, status: str, reason: str) -> None:
        super().__init__(server, status, reason)
        self.server = server
        self.status = status
        self.reason = reason

    def __str__(self) -> str:
        return f"server {self.server!r} is {self.status}: {self.reason}"


class NotRecorded(UsageError):
    """A replay was asked for something that is not in its recording.

    Fields: ``recording`` (its name), ``method``, ``params`` (as they were looked up, with secrets
    replaced) and ``recorded``: the params of the requests that were recorded for this method, the
    most similar first.
    """

    def __init__(
        self, recording: str, method: str, params: Any, recorded: Sequence[Any] = ()
    ) -> None:
        super().__init__(recording, method, params, recorded)
        self.recording = recording
        self.method = method
        self.params = params
        self.recorded: tuple[Any, ...] = tuple(recorded)

    def __str__(self) -> str:
        asked = f" {_shown_json(self.params)}" if self.params is not None else ""
        text = f"{self.method}{asked} is not in the recording {self.recording}"
        nearest = "; ".join(map(_shown_json, self.recorded[:_SHOWN_PARAMS]))
        if not self.recorded:
            text += f", nor is any other {self.method}"
        elif len(self.recorded) > _SHOWN_PARAMS:
            text += f"; the nearest of {len(self.recorded)} recorded there: {nearest}"
        else:
            text += f"; recorded there: {nearest}"
        return f"{text}; record the session again, with this call"


def _shown_json(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return shown(value)
    return text if len(text) <= _SHOWN_BODY else f"{text[:_SHOWN_BODY]}…"


class NotChecked(McpError):
    """A validation reached one of its limits, so nothing is known of the value.

    Nobody has done wrong, so it is no `ProtocolViolation`. Field: ``reason``.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"not checked: {self.reason}"


class ServerError(McpError):
    """The server answered, and the answer is not a result."""


class PeerError(ServerError):
    """The server answered a request with a JSON-RPC error object.

    Fields: ``code`` (an integer, see `mcpclient.ErrorCode`), ``message``, ``data`` (any JSON value
    or None), all exactly as the server sent them.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"the server answered with error {self.code}: {self.message}"


class UrlElicitationRequired(PeerError):
    """The call can be made only after someone has visited a URL (error -32042 of 2025-11-25).

    Fields beside those of `PeerError`: ``elicitations``, one mapping for each visit, with ``url``,
    ``elicitationId`` and ``message``. Show the whole URL and ask before opening it; when the visit
    is over, make the call again.
    """

    @property
    def elicitations(self) -> tuple[Mapping[str, Any], ...]:
        """The visits the server wants; what it sent in another form is left out."""
        listed = self.data.get("elicitations") if isinstance(self.data, dict) else None
        found = listed if isinstance(listed, list) else []
        return tuple(
            item for item in found if isinstance(item, dict) and isinstance(item.get("url"), str)
        )


class ToolError(ServerError):
    """A tool reported its own failure, and ``raise_on_error=True`` was asked for.

    Fields: ``tool`` (its name) and ``result`` (the whole call result).
    """

    def __init__(self, tool: str, result: Any) -> None:
        super().__init__(tool, result)
        self.tool = tool
        self.result = result

    def __str__(self) -> str:
        return f"tool {self.tool!r} failed: {self.result.text[:_SHOWN_BODY]}"


class ResultMismatch(ServerError):
    """The data of a result is not of the type that ``returns`` asked for.

    Fields: ``tool`` (its name), ``place`` (where in the data, such as ``".items[2].price"``, empty
    for the data itself), ``problem`` and ``result`` (the whole call result).
    """

    def __init__(self, tool: str, place: str, problem: str, result: Any) -> None:
        super().__init__(tool, place, problem, result)
        self.tool = tool
        self.place = place
        self.problem = problem
        self.result = result

    def __str__(self) -> str:
        place = f" at {self.place}" if self.place else ""
        return f"the result of tool {self.tool!r} does not fit{place}: {self.problem}"


class TaskFailed(ServerError):
    """A task ended, or the server no longer knows it, and there is neither a result nor an error.

    Fields: ``task_id``, ``status`` (the last one known, such as ``"cancelled"``) and ``message``:
    what the server said about it, or the reason found here; None when there is neither.
    """

    def __init__(self, task_id: str, status: str, message: str | None = None) -> None:
        super().__init__(task_id, status, message)
        self.task_id = task_id
        self.status = status
        self.message = message

    def __str__(self) -> str:
        text = f"task {self.task_id} gave no result; its status is {self.status!r}"
        return f"{text}: {self.message}" if self.message else text


class ProtocolViolation(ServerError):
    """The server sent something the protocol does not allow.

    Field: ``reason``. Only the call named by the bad message fails; others go on.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class MessageTooLarge(ProtocolViolation):
    """A message exceeded ``max_message_size``; it was discarded with bounded memory.

    Field: ``limit`` in bytes.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"the server sent a message larger than {limit} bytes; "
            "raise max_message_size if such messages are expected"
        )
        self.args: tuple[Any, ...] = (limit,)
        self.limit = limit


class NotOffered(ProtocolViolation):
    """The server asked for something that was not declared as a capability."""


class SchemaError(ProtocolViolation):
    """A schema that cannot be used: malformed, unresolvable, of an unknown dialect, too large.

    Fields: ``fault`` (what is wrong) and ``location`` (where in the schema, as a URI whose
    fragment is a JSON pointer, ``"#/properties/age/type"``).
    """

    def __init__(self, fault: str, location: str) -> None:
        super().__init__(f"the JSON Schema cannot be used, at {location}: {fault}")
        self.args: tuple[Any, ...] = (fault, location)
        self.fault = fault
        self.location = location


class SkillVerificationError(ProtocolViolation):
    """The content of a skill does not agree with its entry, so it must not be used.

    Fields: ``uri`` (of the file, or of the skill itself), ``check`` (``"entry"``, ``"unlisted"``,
    ``"size"``, ``"digest"`` or ``"front matter"``) and ``reason``. The skill may have changed since
    its entry was fetched: then fetch the entry again, and ask for approval again.
    """

    def __init__(self, uri: str, check: str, reason: str) -> None:
        super().__init__(reason)
        self.args: tuple[Any, ...] = (uri, check, reason)
        self.uri = uri
        self.check = check

    def __str__(self) -> str:
        return f"skill file {self.uri} failed its {self.check} check: {self.reason}"


class TemplateError(ProtocolViolation):
    """A template that does not follow RFC 6570.

    Fields: ``template``, ``position`` (the index of the offending character) and ``fault``.
    """

    def __init__(self, template: str, position: int, fault: str) -> None:
        super().__init__(f"the URI template {template!r} is malformed at {position}: {fault}")
        self.args: tuple[Any, ...] = (template, position, fault)
        self.template = template
        self.position = position
        self.fault = fault


class HttpError(ServerError):
    """The server answered an HTTP request with a status that is not a success.

    Fields: ``status`` (integer), ``headers`` (case-insensitive mapping), ``body`` (bytes, at most
    64 KiB of them), ``url`` (without credentials or query), and ``authenticate``, the values of
    ``WWW-Authenticate`` and ``Mcp-Auth-Server``, which say what a 401 or 403 asks for. ``advice``
    says what can be done, where that is known.
    """

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes, url: str = "") -> None:
        super().__init__(status, headers, body, url)
        self.advice = ""
        self.status = status
        self.headers = headers
        self.body = body
        self.url = url

    @property
    def authenticate(self) -> tuple[str, ...]:
        """What the answer says about authorization, one string per header present."""
        found = (self.headers.get("www-authenticate"), self.headers.get("mcp-auth-server"))
        return tuple(value for value in found if value)

    def __str__(self) -> str:
        parts = [f"HTTP {self.status}"]
        if self.url:
            parts.append(f"from {self.url}")
        if _HINTS.get(self.status):
            parts.append(f"({_HINTS[self.status]})")
        text = " ".join(parts)
        for challenge in self.authenticate:
            text += f"; the server asks for: {challenge}"
        if self.advice:
            text += f"; {self.advice}"
        body = self.body[:_SHOWN_BODY].decode("utf-8", "replace").strip()
        if "html" in self.headers.get("content-type", "").lower():  # a page, made for a browser
            body = " ".join(_MARKUP.sub(" ", body).split())
        return f"{text}: {body}" if body else text


_MARKUP = re.compile(r"(?is)<(style|script)\b.*?(?:</\1>|\Z)|<[^>]*(?:>|\Z)")
_REDIRECT = "a redirect that is not followed: to another origin, in a loop, or changing the method"
_HINTS = {
    301: _REDIRECT,
    302: _REDIRECT,
    303: _REDIRECT,
    307: _REDIRECT,
    308: _REDIRECT,
    401: "authorization is needed: give auth=",
    403: "forbidden with these credentials",
    404: "no such endpoint or session",
    405: "the endpoint does not take this method",
    407: "the proxy wants credentials",
    429: "too many requests; see Retry-After",
    503: "the service is unavailable; see Retry-After",
}


class SessionExpired(HttpError):
    """The server has forgotten the session: a 404 for a request that carried the session id this
    server had issued, or a 400 that says so.
    """


class NetworkError(McpError):
    """No answer came: the network failed, the operating system refused, or time ran out."""


class ConnectFailed(NetworkError):
    """No connection could be established.

    Fields: ``target`` (what was connected to), ``reason``, and ``attempts``: the exceptions of
    every way that was tried, in order.
    """

    def __init__(self, target: str, reason: str, attempts: Sequence[BaseException] = ()) -> None:
        super().__init__(target, reason, attempts)
        self.target = target
        self.reason = reason
        self.attempts: tuple[BaseException, ...] = tuple(attempts)

    def __str__(self) -> str:
        return f"cannot connect to {self.target}: {self.reason}"


class CommandNotFound(ConnectFailed):
    """The server's command does not exist, or is not executable.

    Fields: ``command`` (its words, each argument that may be secret as ``…``) and ``search_path``
    (the PATH that was searched).
    """

    def __init__(self, command: Sequence[str], reason: str, search_path: str) -> None:
        self.command: list[str] = shown_words(command)
        super().__init__(self.command[0], reason)
        self.args: tuple[Any, ...] = (self.command, reason, search_path)
        self.search_path = search_path

    def __str__(self) -> str:
        name = self.command[0]
        searched = self.search_path and not ("/" in name or "\\" in name)  # a path is not
        where = f"; PATH searched: {self.search_path}" if searched else ""
        return f"cannot start {name!r}: {self.reason}{where}\n{self.cure}"


class ServersFailed(ConnectFailed):
    """Servers that a manager requires are not connected.

    Field: ``failures``, by name of the server: the exception, or a `ServerUnavailable`.
    """

    def __init__(self, failures: Mapping[str, McpError]) -> None:
        names = ", ".join(failures)
        texts = "; ".join(f"{name}: {error}" for name, error in failures.items())
        super().__init__(names, texts, tuple(failures.values()))
        self.args: tuple[Any, ...] = (failures,)
        self.failures: dict[str, McpError] = dict(failures)

    def __str__(self) -> str:
        return f"required servers are not connected: {self.reason}"


class ConnectionLost(NetworkError):
    """An established connection ended before the answer came.

    Field: ``reason``. The call may or may not have run on the server.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class ProcessExited(ConnectionLost):
    """The server process ended.

    Fields: ``command`` (its words, each argument that may be secret as ``…``), ``exit_code``
    (negative: the signal that ended it; None: it closed its output but has not ended) and
    ``stderr`` (the last 4 KiB it wrote there) and ``output`` (the last lines it wrote to stdout
    that were no messages).
    """

    def __init__(
        self, command: Sequence[str], exit_code: int | None, stderr: str, output: str = ""
    ) -> None:
        super().__init__("")
        self.command: list[str] = shown_words(command)
        self.args: tuple[Any, ...] = (self.command, exit_code, stderr, output)
        self.exit_code = exit_code
        self.stderr = stderr
        self.output = output
        self.reason: str = self._describe()

    def _describe(self) -> str:
        name = shown_command(self.command)
        if self.exit_code is None:
            text = f"the server closed its output: {name}"
        elif self.exit_code < 0:
            text = f"the server was killed by signal {-self.exit_code}: {name}"
        else:
            text = f"the server exited with code {self.exit_code}: {name}"
        return text + _heard(self.output, self.stderr)


class CallTimeout(NetworkError):
    """No answer in time. The server has been told to stop; a late answer is ignored.

    Fields: ``method``, ``seconds`` (the limit that was reached) and ``limit``: ``"idle"`` when
    nothing was heard for that long, ``"total"`` when the whole call took that long, ``"connect"``
    when there was no connection after that long; ``method`` is then what it was waiting for.
    ``waiting_for``: what it waited for at the end, where that was not the server, otherwise None.
    ``target``: the server, and ``subject``: the tool, prompt or URI that the call was for. Without
    a connection, ``output`` has the last lines on a server's stdout that were no messages, and
    ``stderr`` the last of what it wrote there.
    """

    def __init__(
        self, method: str, seconds: float, limit: str = "idle", waiting_for: str | None = None
    ) -> None:
        super().__init__(method, seconds, limit, waiting_for)
        self.method = method
        self.seconds = seconds
        self.limit = limit
        self.waiting_for = waiting_for
        self.target = self.subject = self.output = self.stderr = ""

    def __str__(self) -> str:
        if self.limit == "connect":
            waited = self.waiting_for or (self.method if self.target else None)
            text = f"{self.target or self.method}: not connected within {self.seconds:g} s"
            option = "connect_timeout"
        else:
            waited = self.waiting_for
            subject = f" {self.subject!r}" if self.subject else ""
            server = f" of {self.target}" if self.target else ""
            text = f"{self.method}{subject}{server}: no answer within {self.seconds:g} s"
            option = "timeout" if self.limit == "idle" else "max_timeout"
        reason = "" if waited is None else f", waiting for {waited}"
        return f"{text} ({option}){reason}{_heard(self.output, self.stderr)}"


def _heard(output: str, stderr: str) -> str:
    """What a server wrote that is no message, as the end of a text; servers must log to stderr."""
    text = f"\nit wrote to stdout what is no message:\n{output.strip()}" if output.strip() else ""
    return f"{text}\nlast stderr output:\n{stderr.strip()}" if stderr.strip() else text


class AuthError(McpError):
    """Authorization did not succeed."""


class AuthorizationRequired(AuthError):
    """A human has to visit ``url`` before this server can be used.

    Fields: ``url`` to visit. Its text never shows the query, which holds one-time values.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url

    def __str__(self) -> str:
        return f"authorization is required at {shown_url(self.url)}"

    def __repr__(self) -> str:
        return f"AuthorizationRequired({shown_url(self.url)!r})"


class AuthorizationDenied(AuthError):
    """The authorization server sent the user back with an error instead of a code.

    Fields: ``error`` (a code of RFC 6749 section 4.1.2.1, "access_denied" when the user said no)
    and ``description``, the server's words.
    """

    def __init__(self, error: str, description: str = "") -> None:
        super().__init__(error, description)
        self.error = error
        self.description = description

    def __str__(self) -> str:
        text = f"authorization was not given: {self.error}"
        return f"{text}: {self.description}" if self.description else text


class RegistrationRequired(AuthError):
    """The authorization server does not know this client, and there is no way to register.

    Fields: ``issuer`` and ``reason``. Ask its operator for a client and give its ``client_id``.
    """

    def __init__(self, issuer: str, reason: str) -> None:
        super().__init__(issuer, reason)
        self.issuer = issuer
        self.reason = reason

    def __str__(self) -> str:
        return f"a client_id for {shown_url(self.issuer)} is needed: {self.reason}"

    def __repr__(self) -> str:
        return f"RegistrationRequired({shown_url(self.issuer)!r}, {self.reason!r})"


class TokenRequestFailed(AuthError):
    """The authorization server refused a request for a token.

    Fields: ``error`` (a code of RFC 6749 section 5.2, or "invalid_response" for an answer that
    makes no sense), ``description`` (the server's words, without secrets) and ``status`` (of HTTP).
    """

    def __init__(self, error: str, description: str, status: int) -> None:
        super().__init__(error, description, status)
        self.error = error
        self.description = description
        self.status = status

    def __str__(self) -> str:
        text = f"the authorization server gave no token (HTTP {self.status}): {self.error}"
        return f"{text}: {self.description}" if self.description else text


class InsufficientScope(AuthError):
    """The server asks for scopes, and requesting them once more would change nothing.

    Fields: ``required``, the scopes the server named, and ``requested``, those asked for before.
    """

    def __init__(self, required: Sequence[str], requested: Sequence[str]) -> None:
        super().__init__(required, requested)
        self.required: tuple[str, ...] = tuple(required)
        self.requested: tuple[str, ...] = tuple(requested)

    def __str__(self) -> str:
        required = " ".join(self.required) or "more than it names"
        requested = " ".join(self.requested) or "none by name"
        return f"the server wants the scopes: {required}; asked for already: {requested}"


class SsrfError(AuthError):
    """A URL that a server named points to a place a client must not be sent to.

    Fields: ``url`` and ``reason``.
    """

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        return f"refused to follow {shown_url(self.url)}: {self.reason}"

    def __repr__(self) -> str:
        return f"SsrfError({shown_url(self.url)!r}, {self.reason!r})"
