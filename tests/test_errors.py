"""Every exception of the library: F-WIRE-2, F-LIFE-7, F-HTTP-7 and F-AUTH-12."""

from __future__ import annotations

import copy
import pickle
import pydoc
import re
from typing import Any

import pytest

from mcpclient import errors
from mcpclient.errors import (
    AuthError,
    AuthorizationDenied,
    AuthorizationRequired,
    CallRefused,
    CallTimeout,
    ClientClosed,
    CommandNotFound,
    ConnectFailed,
    ConnectionLost,
    HandlerFailed,
    HttpError,
    InsufficientScope,
    McpError,
    MessageTooLarge,
    NetworkError,
    NotChecked,
    NotOffered,
    NotRecorded,
    PeerError,
    ProcessExited,
    ProtocolViolation,
    RegistrationRequired,
    ResultMismatch,
    SandboxUnavailable,
    SchemaError,
    ServerError,
    ServersFailed,
    ServerUnavailable,
    SessionExpired,
    SkillVerificationError,
    SsrfError,
    TaskFailed,
    TemplateError,
    TokenRequestFailed,
    ToolError,
    UrlElicitationRequired,
    UsageError,
    safe_repr,
    safe_str,
)
from mcpclient.framing.headers import Headers
from mcpclient.protocol.types import CallToolResult
from tests.support.tables import each_row

HEADERS = Headers([("WWW-Authenticate", "Bearer"), ("Mcp-Auth-Server", "https://as/")])
FAILURE = CallToolResult({"content": [{"type": "text", "text": "disk full"}], "isError": True})


# One of each, and the text it is to have.
def made() -> list[tuple[McpError, str]]:
    return [
        (McpError("anything"), "anything"),
        (UsageError("no such option"), "no such option"),
        (
            CallRefused("resources/read", "mem://1", "the user did not allow it"),
            "resources/read of 'mem://1' was refused: the user did not allow it",
        ),
        (ClientClosed(), "the client is closed; connect again to make calls"),
        (ClientClosed("closed while waiting"), "closed while waiting"),
        (
            HandlerFailed("roots/list", "it said no", -1),
            "the server's roots/list was not answered: it said no",
        ),
        (
            NotRecorded("s.jsonl", "ping", None),
            "ping is not in the recording s.jsonl, nor is any other ping",
        ),
        (
            NotRecorded("s.jsonl", "tools/call", {"name": "é"}, [{"name": "f"}, None]),
            'tools/call {"name": "é"} is not in the recording s.jsonl; recorded there: '
            '{"name": "f"}; null',
        ),
        (
            NotRecorded("s.jsonl", "m", {}, [1, 2, 3, 4]),
            "m {} is not in the recording s.jsonl; the nearest of 4 recorded there: 1; 2; 3",
        ),
        (ServerError("odd"), "odd"),
        (PeerError(-32601, "no", {"a": 1}), "the server answered with error -32601: no"),
        (
            UrlElicitationRequired(-32042, "visit", {"elicitations": [{"url": "https://x/"}]}),
            "the server answered with error -32042: visit",
        ),
        (ToolError("save", FAILURE), "tool 'save' failed: disk full"),
        (
            ResultMismatch("add", ".sum", "expected a number, got 'x'", FAILURE),
            "the result of tool 'add' does not fit at .sum: expected a number, got 'x'",
        ),
        (
            SandboxUnavailable("the kernel does not allow Landlock"),
            "the server cannot be confined: the kernel does not allow Landlock",
        ),
        (
            ServerUnavailable("demo", "disabled", "enable it first"),
            "server 'demo' is disabled: enable it first",
        ),
        (
            ServersFailed({"demo": ConnectionLost("reset")}),
            "required servers are not connected: demo: reset",
        ),
        (TaskFailed("t-1", "cancelled"), "task t-1 gave no result; its status is 'cancelled'"),
        (
            TaskFailed("t-1", "failed", "disk full"),
            "task t-1 gave no result; its status is 'failed': disk full",
        ),
        (ProtocolViolation("bytes"), "bytes"),
        (MessageTooLarge(100), "the server sent a message larger than 100 bytes"),
        (NotOffered("it asked for roots"), "it asked for roots"),
        (NotChecked("it takes too long"), "not checked: it takes too long"),
        (
            SchemaError("type is 5", "#/properties/a"),
            "the JSON Schema cannot be used, at #/properties/a: type is 5",
        ),
        (
            TemplateError("a{b", 1, "the brace is not closed"),
            "the URI template 'a{b' is malformed at 1: the brace is not closed",
        ),
        (
            SkillVerificationError("skill://a/b", "size", "3 bytes too many"),
            "skill file skill://a/b failed its size check: 3 bytes too many",
        ),
        (HttpError(418, {}, b""), "HTTP 418"),
        (
            HttpError(401, HEADERS, b" body\n", "https://h/"),
            "HTTP 401 from https://h/ (authorization is needed); "
            "the server asks for: Bearer; the server asks for: https://as/: body",
        ),
        (
            SessionExpired(404, HEADERS, b"", "https://h/"),
            "HTTP 404 from https://h/ (no such endpoint or session); the server asks for: Bearer; "
            "the server asks for: https://as/",
        ),
        (NetworkError("down"), "down"),
        (
            ConnectFailed("https://h/", "refused", [ConnectionLost("x")]),
            "cannot connect to https://h/: refused",
        ),
        (
            CommandNotFound(["npx", "-y"], "no such file", "/bin"),
            "cannot start 'npx': no such file; PATH searched: /bin",
        ),
        (
            CommandNotFound(["./server"], "no such command", "/bin"),
            "cannot start './server': no such command",
        ),
        (CommandNotFound(["bin\\server"], "no", "/bin"), "cannot start 'bin\\\\server': no"),
        (ConnectionLost("reset"), "reset"),
        (
            ProcessExited(["npx", "a b"], 1, "Traceback\n"),
            "the server exited with code 1: npx (1 argument)\nlast stderr output:\nTraceback",
        ),
        (ProcessExited(["npx"], -9, ""), "the server was killed by signal 9: npx"),
        (ProcessExited(["npx"], None, " \n"), "the server closed its output: npx"),
        (CallTimeout("tools/call", 30.0), "tools/call: no answer within 30 s (timeout)"),
        (CallTimeout("ping", 0.25, "total"), "ping: no answer within 0.25 s (max_timeout)"),
        (
            CallTimeout("ping", 0.25, "total", "another login"),
            "ping: no answer within 0.25 s (max_timeout), waiting for another login",
        ),
        (
            CallTimeout("initialize", 60.0, "connect"),
            "initialize: not connected within 60 s (connect_timeout)",
        ),
        (AuthError("no"), "no"),
        (
            AuthorizationRequired("https://as/authorize?state=s3cret"),
            "authorization is required at https://as/authorize",
        ),
        (AuthorizationDenied("access_denied"), "authorization was not given: access_denied"),
        (AuthorizationDenied("x", "because"), "authorization was not given: x: because"),
        (
            RegistrationRequired("https://as?x=1", "no registration endpoint"),
            "a client_id for https://as is needed: no registration endpoint",
        ),
        (
            TokenRequestFailed("invalid_grant", "", 400),
            "the authorization server gave no token (HTTP 400): invalid_grant",
        ),
        (
            TokenRequestFailed("invalid_grant", "expired", 400),
            "the authorization server gave no token (HTTP 400): invalid_grant: expired",
        ),
        (
            InsufficientScope(["files:write", "x"], ["files:read"]),
            "the server wants the scopes: files:write x; asked for already: files:read",
        ),
        (
            InsufficientScope([], []),
            "the server wants the scopes: more than it names; asked for already: none by name",
        ),
        (
            SsrfError("http://169.254.169.254/?x=1", "link-local address"),
            "refused to follow http://169.254.169.254/: link-local address",
        ),
    ]


EXAMPLES = made()


def names_of(root: type[McpError]) -> set[str]:
    """Return the name of every class below, and including, ``root``."""
    children = root.__subclasses__()
    ours = [each for each in children if each.__module__.startswith(f"{errors.__name__}.")]
    return {root.__name__}.union(*map(names_of, ours))


def test_help_draws_the_tree() -> None:
    """F-WIRE-2: four columns for each level, with every class at its place."""
    drawn = pydoc.plain(pydoc.render_doc(errors)).partition("CLASSES")[2]
    for kind in {type(error) for error, _ in EXAMPLES}:
        indent = " " * 4 * kind.__mro__.index(BaseException)
        assert re.search(rf"^{indent}[\w.]+\.{kind.__name__}$", drawn, re.MULTILINE), kind


def test_every_class_is_exported_and_tried_here() -> None:
    """F-WIRE-2: nothing is raised that a caller cannot name."""
    names = names_of(McpError)
    assert set(errors.__all__) == names
    assert {type(error).__name__ for error, _ in EXAMPLES} == names, "add an example above"
    assert list(errors.__all__) == sorted(errors.__all__)


def test_only_what_a_peer_says_has_a_peers_code() -> None:
    """F-WIRE-2: what happened here does not; a handler's failure has the one a peer gets."""
    with_codes = {type(error) for error, _ in EXAMPLES if hasattr(error, "code")}
    assert {kind for kind in with_codes if not issubclass(kind, PeerError)} == {HandlerFailed}


@each_row(("error", "text"), EXAMPLES)
def test_texts(error: McpError, text: str) -> None:
    """F-HTTP-7: one plain line that says what happened, made of the fields."""
    assert str(error) == text


@each_row(
    ("code", "status", "refused"),
    [
        ("invalid_grant", 400, True),
        ("invalid_client", 401, True),
        ("token_expired", 200, True),
        ("invalid_response", 400, True),
        ("invalid_response", 401, True),
        ("invalid_response", 200, False),
        ("invalid_response", 403, False),
        ("server_error", 400, False),
        ("temporarily_unavailable", 400, False),
        ("invalid_grant", 408, False),
        ("slow_down", 429, False),
        ("invalid_grant", 500, False),
        ("invalid_response", 503, False),
    ],
)
def test_a_refusal_is_told_from_trouble(code: str, status: int, refused: bool) -> None:
    """F-AUTH-5: an error that is not a refusal keeps the login."""
    assert TokenRequestFailed(code, "", status).is_refusal is refused


def test_errors_of_the_same_facts_say_the_same() -> None:
    for (first, _), (second, text) in zip(EXAMPLES, made()):
        assert str(first) == str(second) == text
        assert vars(first).keys() == vars(second).keys()


@each_row("error", [error for error, _ in EXAMPLES])
def test_copies_are_whole(error: McpError) -> None:
    """F-LIFE-7: an error can be raised again, copied, and sent to another process."""
    error.__cause__ = ValueError("why")
    again = error.again()
    assert again is not error
    assert again.__cause__ is error.__cause__
    for twin in (again, copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert repr(twin) == repr(error)
        # The attempts of a ConnectFailed are exceptions, which are equal to themselves only.
        assert repr(vars(twin)) == repr(vars(error))


def test_every_waiter_gets_a_traceback_of_its_own() -> None:
    """F-LIFE-7: raising one error for many calls does not pile up tracebacks."""
    error = ConnectionLost("gone")
    twins = [error.again() for _ in range(2)]
    for twin in twins:
        with pytest.raises(ConnectionLost):
            raise twin
    assert error.__traceback__ is None
    assert twins[0].__traceback__ is not twins[1].__traceback__


def test_fields() -> None:
    """F-HTTP-7, F-LIFE-7: a program never has to parse a message."""
    peer = PeerError(-32602, "bad", [1])
    assert (peer.code, peer.message, peer.data) == (-32602, "bad", [1])
    tool = ToolError("save", FAILURE)
    assert (tool.tool, tool.result) == ("save", FAILURE)
    http = HttpError(401, HEADERS, b"x", "https://h/")
    assert (http.status, http.body, http.url) == (401, b"x", "https://h/")
    assert http.authenticate == ("Bearer", "https://as/")
    assert HttpError(500, {}, b"").authenticate == ()
    lost = ConnectionLost("x")
    failed = ConnectFailed("t", "r", [lost])
    assert (failed.target, failed.reason, failed.attempts) == ("t", "r", (lost,))
    command = CommandNotFound(("npx", "x"), "gone", "/bin")
    assert (command.command, command.search_path, command.target) == (["npx", "x"], "/bin", "npx")
    exited = ProcessExited(("npx",), 3, "tail")
    assert (exited.command, exited.exit_code, exited.stderr) == (["npx"], 3, "tail")
    assert exited.reason == str(exited)
    timeout = CallTimeout("m", 1.5, "total")
    assert (timeout.method, timeout.seconds, timeout.limit) == ("m", 1.5, "total")
    handler = HandlerFailed("m", "r")
    assert (handler.method, handler.reason, handler.code) == ("m", "r", -32603)
    missing = NotRecorded("s.jsonl", "m", {"a": 1}, [{"a": 2}])
    assert (missing.recording, missing.method) == ("s.jsonl", "m")
    assert (missing.params, missing.recorded) == ({"a": 1}, ({"a": 2},))
    assert MessageTooLarge(5).limit == 5


def test_a_page_is_shown_as_text() -> None:
    """F-HTTP-7: what a proxy or a web server says in markup for browsers."""
    page = (
        b"<!DOCTYPE html><html><head><title>Not found</title><style>p { color: red }</style>"
        b"</head>\n<body><h1>404</h1> <p class=x>nothing here<script>if (a < b) {}</script><p"
    )
    error = HttpError(404, Headers([("Content-Type", "text/html; charset=utf-8")]), page)
    assert str(error).endswith(": Not found 404 nothing here")
    assert error.body == page
    assert "<p" in str(HttpError(404, {}, page))


def test_long_bodies_and_results_are_cut() -> None:
    """F-HTTP-7: the text stays readable; the field has all that was kept."""
    error = HttpError(500, {}, b"x" * 60_000)
    assert len(str(error)) < 600
    assert len(error.body) == 60_000
    assert "\ufffd" in str(HttpError(500, {}, b"\xff"))
    long = CallToolResult({"content": [{"type": "text", "text": "y" * 60_000}]})
    assert len(str(ToolError("t", long))) < 600


SECRET_URL = "https://user:s3cret@as.example/path?code=s3cret#s3cret"


@each_row(
    "error",
    [
        AuthorizationRequired(SECRET_URL),
        SsrfError(SECRET_URL, "private address"),
        RegistrationRequired(SECRET_URL, "none"),
        HttpError(401, Headers([("Set-Cookie", "s3cret")]), b"", "https://h/"),
    ],
)
def test_no_secrets(error: McpError) -> None:
    """F-AUTH-12: neither text nor repr shows the secrets in a URL or a header."""
    assert "s3cret" not in str(error)
    assert "s3cret" not in repr(error) + repr(error.args)
    assert "s3cret" not in repr([error])


def test_a_path_with_an_at_sign_is_shown_whole() -> None:
    """F-AUTH-12: hiding userinfo hides nothing else."""
    error = SsrfError("https://h/@scope/pkg", "x")
    assert str(error) == "refused to follow https://h/@scope/pkg: x"


def test_a_value_too_deep_to_be_shown() -> None:
    """F-WIRE-7: what a server sent may be deeper than `repr` goes."""
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"x": deep}
    error = PeerError(-32000, "no", deep)
    assert repr(error) == "PeerError(-32000, 'no', <dict, nested too deeply to be shown>)"
    assert str(error) == "the server answered with error -32000: no"
    assert repr(CallToolResult(deep)).startswith("CallToolResult(<dict, nested")
    assert "nested too deeply" in str(NotRecorded("r", "m", deep))
    assert safe_repr("x" * 200, 5) == "'xxxx…"


def test_every_error_has_a_hint_and_shows_it_when_nobody_catches_it() -> None:
    """F-SHOW-15: made on access, since facts are added after an error is made."""
    error = McpError("no\x1b[2J such thing\u202e")
    assert str(error) == r"no\x1b[2J such thing\u202e"
    assert error.hint == error.hint != ""
    assert error.advise("Try {timeout}.") is error
    assert error.hint == "Try timeout=."
    quoting = ProcessExited(["python"], 2, "can't open file 'x\x1b[2J\u202e'")
    assert quoting.hint == r"Check the path of the script: x\x1b[2J\u202e is not there."
    notes: list[str] = getattr(error, "__notes__")  # noqa: B009 - a property here
    assert notes == ["Hint: Try timeout=."]
    assert getattr(UsageError("plain"), "__notes__") == []  # noqa: B009
    assert "such thing" in repr(error)


def test_values_of_a_server_are_shown_however_deep_they_are() -> None:
    """F-WIRE-7"""
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert safe_repr(deep) == "<list, nested too deeply to be shown>"
    assert safe_repr("x" * 1000, 5) == "'xxxx…"
    assert safe_str("text") == "text"
    assert safe_str(7) == "7"
    while deep:  # else its end would nest as deep
        deep = deep[0]  # type: ignore[assignment]
