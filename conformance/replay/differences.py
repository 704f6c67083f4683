"""Where this library and a reference client do not do the same, and who is right.

A replay fails of every difference that is not in this table, and the whole run of those in the
table that did not occur: the list is what is true today.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

__all__ = ["DIFFERENCES", "Difference", "Known"]


@dataclass(frozen=True)
class Difference:
    """One difference by name.

    ``transcripts``: a pattern of their names. ``text``: a regular expression for what the replay
    says of it. ``reference`` and ``ours``: what each side does. ``why``: why that is right, with
    the section of the specification. ``answer``: the status that a request gets which the
    reference client never sends.
    """

    name: str
    transcripts: str
    text: str
    reference: str
    ours: str
    why: str
    answer: int = 404


DIFFERENCES = (
    Difference(
        "the session is ended with DELETE",
        transcripts="http/*",
        text=r"^never recorded: DELETE ",
        reference="leaves the session behind, unless its user calls terminateSession",
        ours="ends the session whenever it closes",
        why="Streamable HTTP, Session Management: a client that needs a session no more SHOULD "
        "send DELETE.",
        answer=200,
    ),
    Difference(
        "a lost session is begun anew",
        transcripts="http/sdk1-session-lost",
        text=r"^never recorded: POST /mcp initialize",
        reference="reports the 404 to its user, and so for every call from then on",
        ours="initializes again, and reports the 404 when that fails, too",
        why="Streamable HTTP, Session Management: a client that receives 404 for a session MUST "
        "start a new one by a new InitializeRequest.",
        answer=404,
    ),
    Difference(
        "nobody waits for the response of a call given up",
        transcripts="http/sdk1-*",
        text=r"^too early: the end of http-4 came before record \d+ \(status 200\)",
        reference="sends notifications/cancelled, and leaves the response open until it closes",
        ours="sends notifications/cancelled, and closes the response at once",
        why="Cancellation, Behavior Requirements: the sender SHOULD ignore any response that comes "
        "after it. Who ignores it need not hold a connection open for it.",
    ),
    Difference(
        "progress right before the answer",
        transcripts="*",
        text=r"^step \d+: all progress came, ",
        reference="loses progress that comes in one piece with the answer: it forgets the handler "
        "before it calls it",
        ours="delivers all progress, in order, before the result",
        why="Progress: notifications stop after completion; these were sent before it.",
    ),
    Difference(
        "the title of an argument",
        transcripts="*/sdk1-pages",
        text=r"^step 3: result\.1\.arguments\.1\.title is The tone, recorded was nothing",
        reference="drops it: its model of PromptArgument does not have it",
        ours="keeps whatever the server says",
        why="Schema, PromptArgument: it is a BaseMetadata, which has a title.",
    ),
    Difference(
        "answers that belong to a task",
        transcripts="*task*",
        text=r"answer to \d+: result\._meta is "
        r'\{"io\.modelcontextprotocol/related-task": \{"taskId": "[-\w]+"\}\}, '
        r"recorded was nothing$",
        reference="answers a request of a task without naming the task",
        ours="names the task in the answer as well",
        why="Tasks (2025-11-25), Associating Task-Related Messages: all requests, notifications "
        "and responses related to a task MUST include the key.",
    ),
    Difference(
        "roots nobody has named",
        transcripts="*/everything-task",
        text=r"answer to 0: (result is \{\"roots\": \[\]\}, recorded was nothing"
        r"|error is nothing, recorded was \{\"code\": -32601)",
        reference="declares roots and has nobody to ask for them, as its user gave it none",
        ours="answers with none: it cannot declare what it does not answer",
        why="Roots, Capabilities: declaring roots is to say that they can be listed.",
    ),
    Difference(
        "fields of a form that were left out",
        transcripts="*/everything-asks",
        text=r"answer to \d+: result\.content\.\w+ is .*, recorded was nothing$",
        reference="sends what the user entered",
        ours="adds the defaults of the form where the user entered nothing",
        why="Elicitation: clients that support default values SHOULD pre-populate form fields.",
    ),
    Difference(
        "what cancelling a task returns",
        transcripts="*/sdk1-tasks",
        text=r"^step 8: result\.\w+ is nothing, recorded was ",
        reference="hands on the task as tasks/cancel returned it",
        ours="cancel_task returns nothing",
        why="An interface of its own: get_task says what became of it.",
    ),
    Difference(
        "a visit that the user is asked for",
        transcripts="*/everything-asks",
        text=r"^the user was asked once more than recorded: elicitation$",
        reference="leaves it to its user to read the error -32042",
        ours="asks the handler for visits, who says no here",
        why="Elicitation, URL Elicitation Required Error: clients can direct the user to the URL "
        "and retry the request.",
    ),
    Difference(
        "the kind of a result",
        transcripts="*-2026-07-28",
        text=r"^step \d+: result\.resultType is complete, recorded was nothing$",
        reference="takes resultType off what its user gets",
        ours="keeps whatever the server says",
        why="An interface of its own: on the wire both are alike.",
    ),
    Difference(
        "changes of roots in the stateless era",
        transcripts="*-2026-07-28",
        text=r"clientCapabilities\.roots\.listChanged is nothing, recorded was true$",
        reference="declares whatever its user declares",
        ours="declares roots without listChanged",
        why="Roots, Capabilities: the capability is an empty object; there is no notification of "
        "changes in this revision.",
    ),
    Difference(
        "the metadata of notifications",
        transcripts="*-2026-07-28",
        text=r"^notifications/cancelled: params\._meta is nothing, recorded was "
        r'\{"io\.modelcontextprotocol/protocolVersion"',
        reference="sends with a notification what every request has to carry",
        ours="sends it with requests only",
        why="Base Protocol, _meta: client requests carry these members. The example in "
        "Cancellation has none.",
    ),
    Difference(
        "the end of a subscription over HTTP",
        transcripts="http/sdk2-listen-2026-07-28",
        text=r"^never sent: POST /mcp notifications/cancelled$",
        reference="closes the response, and sends notifications/cancelled as well",
        ours="closes the response",
        why="Cancellation, Transport-Specific: closing the stream is the signal; the notification "
        "is neither required nor expected.",
    ),
    Difference(
        "what is asked of an authorization server",
        transcripts="http/*authorized-*",
        text=r"(well-known|register).*: header accept is application/json, recorded was \*/\*$",
        reference="takes anything",
        ours="asks for JSON",
        why="RFC 9728, 8414 and 7591: JSON is what it can make use of.",
    ),
    Difference(
        "the type of application",
        transcripts="http/*authorized-*",
        text=r"^POST /register: application_type is native, recorded was nothing$",
        reference="leaves it out",
        ours="says that it is native: it is redirected to the loopback interface",
        why="Authorization, Dynamic Client Registration (SEP-837): clients MUST specify it.",
    ),
    Difference(
        "metadata is read once for a login",
        transcripts="http/*authorized-*",
        text=r"^never sent again: GET /\.well-known/",
        reference="reads the metadata once more when the user has come back",
        ours="goes on with what it has read",
        why="Nothing asks for it, and a code must go to the server that the user was sent to.",
    ),
    Difference(
        "the scope of a program",
        transcripts="http/authorized-client-credentials",
        text=r"^POST /token: form field scope is tools, recorded was nothing$",
        reference="asks for the scope that was configured, or none",
        ours="asks for the scope of the challenge",
        why="Authorization, Scope Selection Strategy: the scope of the challenge comes first.",
    ),
    Difference(
        "a scope that is not enough",
        transcripts="http/authorized-scopes-step-up",
        text=r"^never recorded: a visit to "
        r"|^step 1: (failed is unauthorized, recorded was http|status is nothing, recorded was 403)"
        r"|^never sent again: POST /(token|mcp tools/call)$"
        r"|^POST /mcp tools/call: header authorization is Bearer redacted-5, "
        r"recorded was Bearer redacted-8$",
        reference="uses its refresh token, calls once more, and reports the second 403",
        ours="sends the user to log in for the wider scope, who says no here",
        why="Authorization, Step-Up Authorization Flow: initiate authorization with the scopes "
        "that are needed; RFC 6749, 6: a refresh does not widen the scope.",
    ),
    Difference(
        "what surrounds a completion",
        transcripts="*-2026-07-28",
        text=r"^step \d+: result\._meta is nothing, recorded was "
        r'\{"io\.modelcontextprotocol/serverInfo"',
        reference="hands on the whole result of completion/complete",
        ours="hands on the completion",
        why="An interface of its own: request() gives the whole result.",
    ),
    Difference(
        "the content of a visit",
        transcripts="*/sdk2-asks-2026-07-28",
        text=r"params\.inputResponses\.visit\.content is nothing, recorded was ",
        reference="sends whatever its user answers",
        ours="sends no content where the user only went to a URL",
        why="Schema, ElicitResult: content is present with action accept in form mode only.",
    ),
    Difference(
        "an answer that does not fit the form",
        transcripts="*/sdk2-asks-2026-07-28",
        text=r"^step 6: (result is nothing|failed is refused), recorded was "
        r"|^never sent again: (POST /mcp )?prompts/get$",
        reference="sends whatever its user answers",
        ours="refuses to send what the form does not allow",
        why="Elicitation, Form Mode Security: clients SHOULD validate all responses against the "
        "schema.",
    ),
    Difference(
        "an unknown revision",
        transcripts="*/sdk1-2031-01-01-refused",
        text=r"^connecting: failed is refused, recorded was other$",
        reference="raises a plain Error",
        ours="raises a ProtocolViolation (with strict_version; else it goes on)",
        why="Lifecycle, Version Negotiation: a client that does not support the version in the "
        "answer SHOULD disconnect. Both do.",
    ),
    Difference(
        "after the connection was lost",
        transcripts="ws/sdk1-dropped",
        text=r"^step 1: failed is closed, recorded was refused",
        reference="says that it is not connected",
        ours="says how the connection was lost",
        why="An interface of its own: the call is not made in either.",
    ),
    Difference(
        "the code of a close frame",
        transcripts="ws/*",
        text=r"^close frame: code is 1000, recorded was 1005$",
        reference="closes without a code",
        ours="closes with 1000, normal closure",
        why="RFC 6455, 5.5.1: the body is optional; 7.4.1: 1000 says that the purpose is "
        "fulfilled.",
    ),
)


class Known:
    """The differences that are allowed, and how often each was met."""

    def __init__(self, differences: Iterable[Difference] = DIFFERENCES) -> None:
        self.met: Counter[str] = Counter()
        self._differences = [(re.compile(item.text), item) for item in differences]

    def find(self, transcript: str, text: str) -> Difference | None:
        """Return the difference that explains a finding in a transcript."""
        for pattern, item in self._differences:
            if fnmatchcase(transcript, item.transcripts) and pattern.search(text):
                return item
        return None

    def explains(self, transcript: str, text: str) -> bool:
        """Whether a finding is a known difference, which counts as having been met."""
        item = self.find(transcript, text)
        if item is not None:
            self.met[item.name] += 1
        return item is not None

    @property
    def names(self) -> list[str]:
        """The names of all."""
        return [item.name for _, item in self._differences]
