"""The differences between this library and a reference client, and who is right.

A replay fails of every difference that is not in this table, and of those in the table that do not
occur in a session which they name: the table says what holds today, session by session.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

__all__ = ["DIFFERENCES", "Difference", "Known"]


@dataclass(frozen=True)
class Difference:
    """One difference by name.

    ``sessions``: patterns of the transcripts' names, separated by spaces; ``but_not``: of these,
    where it does not occur. ``texts``: regular expressions for the replay's messages about it;
    each occurs in each of the sessions. ``reference`` and ``ours``: what each side does. ``why``:
    why that is right, with the section of the specification. ``answer``: the status that a request
    gets which the reference client never sends.
    """

    name: str
    sessions: str
    texts: tuple[str, ...]
    reference: str
    ours: str
    why: str
    but_not: str = ""
    answer: int = 404

    def names(self, session: str) -> bool:
        """Whether it occurs in a session."""
        return _is_one_of(session, self.sessions) and not _is_one_of(session, self.but_not)


def _is_one_of(session: str, patterns: str) -> bool:
    return any(fnmatchcase(session, pattern) for pattern in patterns.split())


DIFFERENCES = (
    Difference(
        "the session is ended with DELETE",
        sessions="http/*",
        but_not="*-2026-07-28* *-stateless-tour */sdk1-terminated */sdk1-json-tour "
        "*/authorized-no-login */authorized-forged-code */sdk1-silent-hello "
        "*/toolbox-queries */grafana-examples *-by-python */sdk1-headers "
        "*/sdk2-older-fallback */authorized-unregistered-code *-by-codex",
        texts=(r"^never recorded: DELETE ",),
        reference="leaves the session behind, unless its user calls terminateSession",
        ours="ends the session whenever it closes",
        why="Streamable HTTP, Session Management: a client that needs a session no more SHOULD "
        "send DELETE.",
        answer=200,
    ),
    Difference(
        "the server's own stream is opened before anything else",
        sessions="http/*",
        but_not="*-2026-07-28* */authorized-no-login */authorized-forged-code "
        "*/sdk1-2031-01-01-refused */sdk1-silent-hello */sdk1-stateless-tour-by-python "
        "*/toolbox-queries-by-python */authorized-unregistered-code *-by-codex",
        texts=(r"^order: GET /\S+ came before POST /\S+ notifications/initialized$",),
        reference="sends notifications/initialized, and opens the stream meanwhile",
        ours="opens the stream, waits for its head, and sends notifications/initialized then",
        why="Streamable HTTP, Listening for Messages: a client MAY issue a GET at any time. What "
        "the server says at once after notifications/initialized is lost without the stream.",
    ),
    Difference(
        "headers of requests without a body",
        sessions="http/*-by-python",
        but_not="*-stateless-tour-by-python */toolbox-queries-by-python *-2026-07-28-by-python",
        texts=(
            r"^(GET|DELETE) /\S+: header accept is ",
            r"^(GET|DELETE) /\S+: header content-type is nothing, recorded was application/json$",
        ),
        reference="sends with each request what a POST needs",
        ours="names no type of a body that is not there, and accepts what can come",
        why="RFC 9110, 8.3: Content-Type describes a representation. Streamable HTTP: the Accept "
        "of a GET MUST list text/event-stream, as both do.",
    ),
    Difference(
        "the stream of a server without sessions",
        sessions="http/sdk1-stateless-tour-by-python http/toolbox-queries-*by-*",
        texts=(r"^never recorded: GET /mcp$",),
        reference="asks for the server's own stream only if there is a session",
        ours="asks, and is told that there is none",
        why="Streamable HTTP, Listening for Messages: a client MAY issue a GET; sessions are not a "
        "condition.",
        answer=405,
    ),
    Difference(
        "the revision in a header of legacy SSE",
        sessions="sse/*-by-python",
        texts=(r"^POST /\S+ \S+: header mcp-protocol-version is \S+, recorded was nothing$",),
        reference="names the revision over Streamable HTTP only",
        ours="names it over legacy SSE as well",
        why="Transports, Protocol Version Header: a client that uses HTTP MUST include it.",
    ),
    Difference(
        "what nobody has declared",
        sessions="*/sdk1-undeclared-by-python",
        texts=(r"^POST /mcp answer to \d+: error\.code is -32601, recorded was -3260[02]$",),
        reference="answers that the request is invalid",
        ours="answers that there is no such method",
        why="JSON-RPC 2.0, 5.1: -32601, the method does not exist or is not available.",
    ),
    Difference(
        "cookies",
        sessions="http/sdk1-cookies-tour",
        texts=(r"^(GET|POST) /mcp.*: header cookie is visitor=\S+, recorded was nothing$",),
        reference="has no memory for cookies",
        ours="sends a cookie back to where it came from",
        why="RFC 6265, 5.3 and 5.4: balancers bind a session to a machine by a cookie.",
    ),
    Difference(
        "a cookie that does not last",
        sessions="http/sdk1-crumbs-tour",
        texts=(r"^GET /mcp: header cookie is visitor=\S+, recorded was nothing$",),
        reference="has no memory for cookies",
        ours="sends a cookie back, and forgets it when the server says so",
        why="RFC 6265, 5.3: a cookie with a Max-Age of zero has expired.",
    ),
    Difference(
        "tools for sampling that were not declared",
        sessions="*/sdk1-half-declared",
        texts=(
            r"answer to \d+: error is .*-32602.*, recorded was nothing$",
            r"answer to \d+: result is nothing, recorded was ",
        ),
        reference="hands the request to its user, with the tools",
        ours="answers -32602",
        why="Schema, CreateMessageRequestParams.tools: the client MUST return an error if the "
        "field is provided and sampling.tools was not declared.",
    ),
    Difference(
        "a lost session is begun anew",
        sessions="http/sdk1-session-lost",
        texts=(r"^never recorded: POST /mcp initialize",),
        reference="reports the 404 to its user, and so for every call from then on",
        ours="initializes again, and reports the 404 when that fails, too",
        why="Streamable HTTP, Session Management: a client that receives 404 for a session MUST "
        "start a new one by a new InitializeRequest.",
        answer=404,
    ),
    Difference(
        "nobody waits for the response of a call given up",
        sessions="http/sdk1-cancel http/sdk1-cancel-while-asked http/sdk1-timeout",
        texts=(r"^too early: the end of http-4 came before record \d+ \(status 200\)",),
        reference="sends notifications/cancelled, and leaves the response open until it closes",
        ours="sends notifications/cancelled, and closes the response at once",
        why="Cancellation, Behavior Requirements: the sender SHOULD ignore any response that comes "
        "after it. Who ignores it need not hold a connection open for it.",
    ),
    Difference(
        "progress right before the answer",
        sessions="*/sdk1-progress stdio/sdk1-20*-tour stdio/mcp2-tour* stdio/sdk2-tour-2026-07-28",
        but_not="http/* *-2026-07-28-by-python",
        texts=(r"^step \d+: all progress came, ",),
        reference="loses progress that comes in one piece with the answer: it forgets the handler "
        "before it calls it",
        ours="delivers all progress, in order, before the result",
        why="Progress: notifications stop after completion; these were sent before it.",
    ),
    Difference(
        "the title of an argument",
        sessions="*/sdk1-pages",
        texts=(r"^step 3: result\.1\.arguments\.1\.title is The tone, recorded was nothing",),
        reference="drops it: its model of PromptArgument does not have it",
        ours="keeps whatever the server says",
        why="Schema, PromptArgument: it is a BaseMetadata, which has a title.",
    ),
    Difference(
        "answers that belong to a task",
        sessions="*/everything-task */sdk1-task-asks",
        texts=(
            r"answer to \d+: result\._meta is "
            r'\{"io\.modelcontextprotocol/related-task": \{"taskId": "[-\w]+"\}\}, '
            r"recorded was nothing$",
        ),
        reference="answers a request of a task without naming the task",
        ours="names the task in the answer as well",
        why="Tasks (2025-11-25), Associating Task-Related Messages: all requests, notifications "
        "and responses related to a task MUST include the key.",
    ),
    Difference(
        "roots nobody has named",
        sessions="*/everything-task",
        texts=(
            r"answer to 0: result is \{\"roots\": \[\]\}, recorded was nothing",
            r"answer to 0: error is nothing, recorded was \{\"code\": -32601",
        ),
        reference="declares roots and has nobody to ask for them, as its user gave it none",
        ours="answers with none: it cannot declare what it does not answer",
        why="Roots, Capabilities: declaring roots is to say that they can be listed.",
    ),
    Difference(
        "fields of a form that were left out",
        sessions="*/everything-asks",
        texts=(r"answer to \d+: result\.content\.\w+ is .*, recorded was nothing$",),
        reference="sends what the user entered",
        ours="adds the defaults of the form where the user entered nothing",
        why="Elicitation: clients that support default values SHOULD pre-populate form fields.",
    ),
    Difference(
        "what cancelling a task returns",
        sessions="*/sdk1-tasks",
        texts=(r"^step 8: result\.\w+ is nothing, recorded was ",),
        reference="hands on the task as tasks/cancel returned it",
        ours="cancel_task returns nothing",
        why="An interface of its own: get_task says what became of it.",
    ),
    Difference(
        "a visit that the user is asked for",
        sessions="*/everything-asks",
        texts=(r"^the user was asked once more than recorded: elicitation$",),
        reference="leaves it to its user to read the error -32042",
        ours="asks the handler for visits, who says no here",
        why="Elicitation, URL Elicitation Required Error: clients can direct the user to the URL "
        "and retry the request.",
    ),
    Difference(
        "the kind of a result",
        sessions="*-2026-07-28 *-2026-07-28-by-inspector",
        but_not="*/sdk2-undeclared-2026-07-28 */sdk2-stale-lists-2026-07-28",
        texts=(r"^step \d+: result\.resultType is complete, recorded was nothing$",),
        reference="takes resultType off what its user gets",
        ours="keeps whatever the server says",
        why="An interface of its own: on the wire both are alike.",
    ),
    Difference(
        "changes of roots in the stateless era",
        sessions="*/sdk2-asks-2026-07-28* */sdk2-declines-2026-07-28* */sdk2-query-2026-07-28-by-* "
        "*/sdk2-insatiable-*-2026-07-28*",
        texts=(r"clientCapabilities\.roots\.listChanged is nothing, recorded was true$",),
        reference="declares whatever its user declares",
        ours="declares roots without listChanged",
        why="Roots, Capabilities: the capability is an empty object; there is no notification of "
        "changes in this revision.",
    ),
    Difference(
        "the metadata of notifications",
        sessions="stdio/sdk2-cancel-2026-07-28 stdio/sdk2-listen-2026-07-28",
        texts=(
            r"^notifications/cancelled: params\._meta is nothing, recorded was "
            r'\{"io\.modelcontextprotocol/protocolVersion"',
        ),
        reference="sends with a notification what every request has to carry",
        ours="sends it with requests only",
        why="Base Protocol, _meta: client requests carry these members. The example in "
        "Cancellation has none.",
    ),
    Difference(
        "a tool whose header has no valid name",
        sessions="stdio/sdk2-*-2026-07-28-by-python",
        texts=(r"^step 0: result is \[.*, recorded was \[",),
        reference="leaves it out of the list over every transport",
        ours="leaves it out over HTTP, where there are headers",
        why="Tools, x-mcp-header (SEP-2243): clients using the Streamable HTTP transport MUST "
        "reject such a definition.",
    ),
    Difference(
        "parameters that are odd as headers",
        sessions="http/sdk2-odd-headers-2026-07-28",
        texts=(
            r"header mcp-param-region is , recorded was =\?base64\?\?=$",
            r"header mcp-param-region is =\?base64\?YQli\?=, recorded was a\tb$",
        ),
        reference="encodes what is empty, and sends a tab as it is",
        ours="encodes what is not visible ASCII, and sends what is empty as it is",
        why="Streamable HTTP, Value Encoding (SEP-2243): a value with control characters MUST be "
        "encoded. The official suite and the SDK in Python leave an empty value empty.",
    ),
    Difference(
        "the place of the end of a subscription",
        sessions="stdio/sdk2-listen-2026-07-28-by-python",
        texts=(r"^order: notifications/cancelled came before tools/call$",),
        reference="cancels it while its user goes on",
        ours="cancels it, and goes on then",
        why="JSON-RPC: the order of two messages that are not about each other says nothing.",
    ),
    Difference(
        "what a host says of itself",
        sessions="*-by-codex",
        texts=(
            r"(tools/list|resources/read): params\._meta\.progressToken is nothing, recorded was ",
            r"tools/call: params\._meta\.\S+ is nothing, recorded was ",
        ),
        reference="sends a progress token with each request, and facts of its own with calls",
        ours="sends what its user wants to send",
        why="Base Protocol, _meta: clients may attach metadata; progress is asked for by choice.",
    ),
    Difference(
        "an experiment of a host",
        sessions="stdio/*-by-codex",
        texts=(r"^initialize: params\.capabilities\.experimental is nothing, recorded was ",),
        reference="declares an experimental capability of its own",
        ours="has none",
        why="Lifecycle, Capability Negotiation: what is experimental is not standard.",
    ),
    Difference(
        "what the server's own stream may be",
        sessions="http/*-by-codex",
        but_not="*/toolbox-queries-*",
        texts=(
            r"^GET /\S+: header accept is text/event-stream, recorded was ",
            r"^order: GET /\S+ came before POST /\S+ notifications/initialized$",
        ),
        reference="accepts JSON as well where only an event stream can come, and opens it later",
        ours="accepts an event stream, and opens it before it says that it is initialized",
        why="Streamable HTTP: the Accept of a GET MUST list text/event-stream, as both do; a "
        "client MAY issue it at any time.",
    ),
    Difference(
        "the server's own stream is opened before the first request",
        sessions="http/sdk1-*-by-codex",
        texts=(r"^order: GET /\S+ came before POST /\S+ tools/list$",),
        reference="opens it while it goes on",
        ours="opens it first",
        why="Streamable HTTP, Listening for Messages: a client MAY issue a GET at any time.",
    ),
    Difference(
        "whether a call has failed",
        sessions="*/mcp1-*-by-codex",
        texts=(r"^step \d+: result\.isError is false, recorded was nothing$",),
        reference="tells its user of failures only",
        ours="keeps whatever the server says",
        why="Schema, CallToolResult.isError: absent means false.",
    ),
    Difference(
        "a subscription at the end of a session",
        sessions="stdio/sdk2-query-2026-07-28-by-inspector",
        texts=(r"^never recorded: notifications/cancelled$",),
        reference="closes while it listens",
        ours="stops listening, and closes then",
        why="Subscriptions: either ends it.",
    ),
    Difference(
        "the end of a subscription over HTTP",
        sessions="http/sdk2-listen-2026-07-28 http/sdk2-cached-changed-while-fresh-2026-07-28",
        texts=(r"^never sent: POST /mcp notifications/cancelled$",),
        reference="closes the response, and sends notifications/cancelled as well",
        ours="closes the response",
        why="Cancellation, Transport-Specific: closing the stream is the signal; the notification "
        "is neither required nor expected.",
    ),
    Difference(
        "what is asked of an authorization server",
        sessions="http/*authorized-*",
        but_not="*/authorized-no-login",
        texts=(r"(well-known|register).*: header accept is application/json, recorded was \*/\*$",),
        reference="takes anything",
        ours="asks for JSON",
        why="RFC 9728, 8414 and 7591: JSON is what it can make use of.",
    ),
    Difference(
        "the type of application",
        sessions="http/*authorized-*",
        but_not="*/authorized-no-login */authorized-known-client *-client-credentials *-widen "
        "*-2026-07-28",
        texts=(r"^POST /register: application_type is native, recorded was nothing$",),
        reference="leaves it out",
        ours="says that it is native: it is redirected to the loopback interface",
        why="Authorization, Dynamic Client Registration (SEP-837): clients MUST specify it.",
    ),
    Difference(
        "metadata is read once for a login",
        sessions="http/*authorized-*",
        but_not="*/authorized-no-login *-client-credentials */authorized-unregistered-code",
        texts=(r"^never sent again: GET /\.well-known/",),
        reference="reads the metadata once more when the user has come back",
        ours="goes on with what it has read",
        why="Nothing asks for it, and a code must go to the server that the user was sent to.",
    ),
    Difference(
        "the scope of a program",
        sessions="http/authorized-client-credentials",
        texts=(r"^POST /token: form field scope is tools, recorded was nothing$",),
        reference="asks for the scope that was configured, or none",
        ours="asks for the scope of the challenge",
        why="Authorization, Scope Selection Strategy: the scope of the challenge comes first.",
    ),
    Difference(
        "a scope that is not enough",
        sessions="http/authorized-scopes-step-up",
        texts=(
            r"^never recorded: a visit to ",
            r"^step 1: failed is unauthorized, recorded was http",
            r"^step 1: status is nothing, recorded was 403",
            r"^never sent again: POST /token$",
            r"^never sent again: POST /mcp tools/call$",
        ),
        reference="uses its refresh token, calls once more, and reports the second 403",
        ours="sends the user to log in for the wider scope, who says no here",
        why="Authorization, Step-Up Authorization Flow: initiate authorization with the scopes "
        "that are needed; RFC 6749, 6: a refresh does not widen the scope.",
    ),
    Difference(
        "what surrounds a completion",
        sessions="*/sdk2-tour-2026-07-28* */sdk2-sse-tour-2026-07-28",
        texts=(
            r"^step \d+: result\._meta is nothing, recorded was "
            r'\{"io\.modelcontextprotocol/serverInfo"',
        ),
        reference="hands on the whole result of completion/complete",
        ours="hands on the completion",
        why="An interface of its own: request() gives the whole result.",
    ),
    Difference(
        "the kind of a completion",
        sessions="*/sdk2-tour-2026-07-28-by-python",
        texts=(r"^step \d+: result\.resultType is nothing, recorded was complete$",),
        reference="hands on the whole result of completion/complete",
        ours="hands on the completion",
        why="An interface of its own: request() gives the whole result.",
    ),
    Difference(
        "the content of a visit",
        sessions="*/sdk2-asks-2026-07-28*",
        texts=(r"params\.inputResponses\.visit\.content is nothing, recorded was ",),
        reference="sends whatever its user answers",
        ours="sends no content where the user only went to a URL",
        why="Schema, ElicitResult: content is present with action accept in form mode only.",
    ),
    Difference(
        "an answer that does not fit the form",
        sessions="*/sdk2-asks-2026-07-28",
        texts=(
            r"^step 6: result is nothing, recorded was ",
            r"^step 6: failed is refused, recorded was ",
            r"^never sent again: (POST /mcp )?prompts/get$",
        ),
        reference="sends whatever its user answers",
        ours="refuses to send what the form does not allow",
        why="Elicitation, Form Mode Security: clients SHOULD validate all responses against the "
        "schema.",
    ),
    Difference(
        "a client that is not registered",
        sessions="http/authorized-unregistered-code",
        texts=(r"^connecting: failed is unauthorized, recorded was other$",),
        reference="raises the error of the authorization server",
        ours="raises an AuthError that shows it",
        why="An interface of its own: neither goes on without a client_id.",
    ),
    Difference(
        "a redirect to another origin",
        sessions="http/authorized-moved-redirect",
        texts=(
            r"^step 1: status is 307, recorded was 404$",
            r"^never sent again: POST /mcp tools/call$",
        ),
        reference="follows it, without the token",
        ours="reports it: who is asked next is for the user to decide",
        why="Authorization, Access Token Usage: a token MUST NOT go elsewhere than to its server. "
        "What was called there without would be another call.",
    ),
    Difference(
        "a state of somebody else",
        sessions="http/authorized-forged-code",
        texts=(
            r"^connecting: failed is unauthorized, recorded was nothing$",
            r"^connecting: protocol_version is nothing, recorded was ",
            r"^connecting: server is nothing, recorded was ",
            r"^connecting: capabilities is nothing, recorded was ",
            r"^connecting: instructions is nothing, recorded was ",
            r"^never sent: POST /token$",
            r"^never sent again: POST /mcp initialize$",
            r"^never sent: POST /mcp notifications/initialized$",
            r"^never sent: GET /mcp$",
            r"^never sent: POST /mcp tools/call$",
            r"^never sent: the end of http-\d+$",
        ),
        reference="leaves it to its user to compare the state, who does not here",
        ours="compares it, and sends no code that comes with another one",
        why="Authorization, Open Redirection: clients SHOULD verify state parameters in the "
        "authorization code flow, and discard results that do not include the original.",
    ),
    Difference(
        "events that come again after a resumption",
        sessions="http/sdk1-repeating-resumed",
        texts=(r"^notifications: how many is 4, recorded was 5$",),
        reference="delivers what it has delivered before",
        ours="delivers an event once",
        why="Streamable HTTP, Resumability and Redelivery: the server replays what was sent after "
        "the last event id; what it sends again has been delivered.",
    ),
    Difference(
        "a call that has taken too long in all",
        sessions="stdio/sdk1-no-more-patience",
        texts=(r"^never recorded: notifications/cancelled$",),
        reference="forgets the call when the next progress comes",
        ours="cancels the call when its time is over",
        why="Lifecycle, Timeouts: the sender SHOULD issue a cancellation notification.",
    ),
    Difference(
        "initialize is not cancelled",
        sessions="stdio/sdk1-silent-hello",
        texts=(r"^never sent: notifications/cancelled$",),
        reference="cancels whatever takes too long",
        ours="closes",
        why="Cancellation, Behavior Requirements: the initialize request MUST NOT be cancelled by "
        "clients.",
    ),
    Difference(
        "an endpoint of another origin",
        sessions="sse/sdk1-elsewhere-hello",
        texts=(r"^connecting: failed is refused, recorded was other$",),
        reference="raises a plain Error",
        ours="raises a ProtocolViolation",
        why="An interface of its own: neither sends anything there.",
    ),
    Difference(
        "an unknown revision",
        sessions="*/sdk1-2031-01-01-refused",
        texts=(r"^connecting: failed is refused, recorded was other$",),
        reference="raises a plain Error",
        ours="raises a ProtocolViolation (with strict_version; else it goes on)",
        why="Lifecycle, Version Negotiation: a client that does not support the version in the "
        "answer SHOULD disconnect. Both do.",
    ),
    Difference(
        "after the connection was lost",
        sessions="ws/sdk1-dropped",
        texts=(r"^step 1: failed is closed, recorded was refused",),
        reference="says that it is not connected",
        ours="says how the connection was lost",
        why="An interface of its own: the call is not made in either.",
    ),
    Difference(
        "the code of a close frame",
        sessions="ws/*",
        but_not="*/sdk1-dropped",
        texts=(r"^close frame: code is 1000, recorded was 1005$",),
        reference="closes without a code",
        ours="closes with 1000, normal closure",
        why="RFC 6455, 5.5.1: the body is optional; 7.4.1: 1000 says that the purpose is "
        "fulfilled.",
    ),
)


class Known:
    """The differences that are allowed in one session, and how often each text of them was met."""

    def __init__(self, session: str, differences: Iterable[Difference] = DIFFERENCES) -> None:
        self.met: Counter[str] = Counter()
        self._texts = {
            text: (re.compile(text), item)
            for item in differences
            if item.names(session)
            for text in item.texts
        }
        self._unmet = dict.fromkeys(self._texts)

    def find(self, text: str) -> Difference | None:
        """Return the difference that explains a finding."""
        return next((self._texts[found][1] for found in self._found(text)), None)

    def explains(self, text: str) -> bool:
        """Whether a finding is a known difference, which counts as having been met."""
        for found in self._found(text):
            self._unmet.pop(found, None)
            self.met[self._texts[found][1].name] += 1
            return True
        return False

    def unmet(self) -> Iterator[str]:
        """Yield what should have been met, and was not."""
        for text in self._unmet:
            yield f"{self._texts[text][1].name} ({text})"

    def _found(self, text: str) -> Iterator[str]:
        return (name for name, (pattern, _) in self._texts.items() if pattern.search(text))
