"""F-SHOW-15: every error says what to do about it, in one sentence."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Mapping
from time import process_time

from mcpclient import errors, hints
from mcpclient.errors import (
    CallTimeout,
    CommandNotFound,
    ConnectFailed,
    ConnectionLost,
    ConnectKind,
    HttpError,
    LossKind,
    McpError,
    PeerError,
    ProcessExited,
    ProtocolViolation,
    ServerUnavailable,
    UsageError,
    ViolationKind,
)
from mcpclient.errors.authorization import TokenRequestFailed
from mcpclient.framing.headers import Headers
from mcpclient.hints import HINTS, hint_for, noise_hint, remote, words
from mcpclient.hints.remote import CONNECTING, REMOTE
from mcpclient.hints.shell import SHELL
from mcpclient.hints.words import PYTHON
from tests.support.tables import each_row


def test_every_kind_of_error_has_a_hint_and_no_other() -> None:
    """F-SHOW-1: also one that is added later."""
    classes = {
        name
        for name, kind in ((name, getattr(errors, name)) for name in errors.__all__)
        if inspect.isclass(kind) and issubclass(kind, McpError)
    }
    assert {*HINTS, *REMOTE} == classes


def test_kinds_that_hints_name_are_kinds() -> None:
    """F-SHOW-1: they are strings there, since that module stands below the exceptions."""
    source = "".join(map(inspect.getsource, (hints, remote, words)))
    kinds = {member.value for kind in (ConnectKind, LossKind, ViolationKind) for member in kind}
    named = set(re.findall(r'kind (?:==|in) \(?((?:"\w+"(?:, )?)+)', source))
    named = {each for group in named for each in re.findall(r'"(\w+)"', group)}
    assert {*CONNECTING, *hints._FILES, *named} <= kinds
    assert named


def test_both_languages_have_the_same_words() -> None:
    """F-SHOW-1: what a hint names is an option in a shell, and a keyword argument in Python."""
    assert PYTHON.keys() == SHELL.keys()
    templates = re.sub(r'\bf"[^"]*"', "", "".join(map(inspect.getsource, (hints, remote, words))))
    assert set(re.findall(r"\{([a-z_]+)\}", templates)) - {"name"} <= PYTHON.keys()
    assert not any(
        re.search(r"\w=[\s,.)]|\w=$|client\.|mcpclient\.", each) for each in SHELL.values()
    )


def http(status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> HttpError:
    return HttpError(status, Headers(list((headers or {}).items())), body, "https://h/")


@each_row(
    ("error", "hint"),
    [
        (CommandNotFound(["@scope/server-x"], "no", ""), "look it up there first"),
        (CommandNotFound(["example.com/mcp"], "no", ""), "write https://example.com/mcp"),
        (CommandNotFound(["localhost:3000"], "no", ""), "write http://localhost:3000"),
        (CommandNotFound(["https:/h.example/x"], "no", ""), "write https://h.example/x"),
        (CommandNotFound(["server.py"], "no", ""), "path of the script"),
        (CommandNotFound(["bin/server"], "no", ""), "relative one begins in the current folder"),
        (CommandNotFound(["server --token x"], "no", ""), "a list with one item for each word"),
        (CommandNotFound(["cd", "x"], "no", ""), "No shell reads this"),
        (CommandNotFound(["A=1", "x"], "no", ""), "variables as env="),
        (CommandNotFound(["~/x"], "no", ""), "Write the full path"),
        (CommandNotFound(["x"], "no", "", ConnectKind.NOT_EXECUTABLE), "chmod +x"),
        (ConnectFailed("h", "no", kind=ConnectKind.EXPIRED), "get a new certificate"),
        (ConnectFailed("h", "no", kind=ConnectKind.OTHER_HOST), "Connect by a name"),
        (ProcessExited(["x"], -9, ""), "process was killed"),
        (ProcessExited(["x"], -11, ""), "server crashed"),
        (PeerError(-32603, "oops"), "look at its log"),
        (CommandNotFound(["server"], "no", ""), "Check the spelling"),
        (CommandNotFound(["my.server"], "no", ""), "full path"),
        (ConnectFailed("h", "no", kind=ConnectKind.SELF_SIGNED), "ca_file="),
        (ConnectFailed("h", "no", kind=ConnectKind.NOT_TLS), "Write http://"),
        (ConnectFailed("h", "odd"), "Check that the server runs"),
        (TokenRequestFailed("invalid_grant", "", 400), "log in again"),
        (TokenRequestFailed("invalid_response", "", 404), "Try again later"),
        (ProcessExited(["x"], 0, ""), "until its stdin is closed"),
        (ProcessExited(["x"], 1, ""), "in a terminal"),
        (CallTimeout("initialize", 3, "connect"), "connect_timeout="),
        (CallTimeout("tools/call", 3), "Raise timeout="),
        (CallTimeout("tools/call", 3, "total"), "Raise max_timeout="),
        (ProtocolViolation("no", ViolationKind.NOT_JSON_RPC), "/mcp or /sse"),
        (ProtocolViolation("odd"), "author of the server"),
        (http(401), "Give auth="),
        (
            http(401, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'}),
            "token was refused",
        ),
        (http(401, headers={"WWW-Authenticate": "NTLM"}), "The server accepts only NTLM"),
        (
            http(407, headers={"Proxy-Authenticate": "Negotiate"}),
            "The proxy accepts only Negotiate",
        ),
        (http(403, headers={"Content-Type": "text/html"}), "A gateway in front"),
        (http(429, headers={"Retry-After": "7"}), "call again, or let retry_busy=True"),
        (http(503, headers={"Retry-After": "7"}), "Wait 7 seconds and call again"),
        (http(302, headers={"Location": "https://h/saml?x"}), "a login at https://h/saml."),
        (
            http(308, headers={"Location": "https://h/new"}),
            "Use the address that it names: https://h/new",
        ),
        (http(308), "/mcp or /sse"),
        (ConnectFailed("h", "x", (http(404),), ConnectKind.NOT_AN_ENDPOINT), "/mcp or /sse"),
        (
            http(401, headers={"WWW-Authenticate": "NTLM, Negotiate"}),
            "only Negotiate: log in as the user of this system, with auth=mcpclient.Negotiate()",
        ),
        (
            ConnectFailed("h", "(407, by NTLM)", kind=ConnectKind.PROXY_NEGOTIATE),
            "only NTLM, which this client does not speak without Negotiate",
        ),
        (CommandNotFound(["x"], "no", "", ConnectKind.CRLF_INTERPRETER), "first line of x ends"),
        (CommandNotFound(["npx"], "no", ""), "nodejs.org"),
        (CommandNotFound(['"x"'], "no", ""), "Leave out the quotes"),
        (CommandNotFound(["https://h/x"], "no", ""), "as a string, not as a command: https://h/x"),
        (ConnectionLost("x"), "may or may not have run"),
        (ConnectionLost("x", LossKind.CLIENT_CERTIFICATE), "as client_cert="),
        (ProcessExited(["docker", "run", "x"], 1, ""), "Add -i behind docker run"),
        (ProcessExited(["docker", "ps"], 1, ""), "in a terminal"),
        (ProcessExited(["x"], 1, "No module named 'y'"), "provides y"),
        (PeerError(-32022, "x", {"supported": ["2031-01-01"]}), "speaks only 2031-01-01"),
        (ProtocolViolation("x", ViolationKind.PAGE), "A page for browsers came"),
        (ServerUnavailable("x", "denied", "y"), "Change the rule"),
        (http(404), "MCP endpoint"),
        (http(418), "MCP endpoint"),
        (http(500), "look at its log"),
        (http(400, b"The plain HTTP request was sent to HTTPS port"), "write https://"),
        (PeerError(-32601, "x"), "offers in client.capabilities"),
        (PeerError(1, "x"), "as the server says"),
        (ConnectionLost("x", LossKind.NO_RESPONSE), "/mcp or /sse"),
    ],
)
def test_what_to_do(error: McpError, hint: str) -> None:
    """F-SHOW-1"""
    assert hint in error.hint
    assert "\n" not in error.hint
    assert copy.copy(error).hint == error.hint


# What a server writes to stderr before it ends, and the hint.
LAST_WORDS = {
    "Error: Cannot find module '/x.js'": "npm",
    "Please set the OPENAI_API_KEY environment variable": "env= with OPENAI_API_KEY",
    "Error: GITHUB_TOKEN is not set": "env= with GITHUB_TOKEN",
    "npm error code E404": "name of the package",
    "npm error could not determine executable to run": "has no program",
    "Because x was not found in the package registry …": "name of the package",
    "Error: No such option '--repo'.": "Fix the server's command-line",
    "x: error: the following arguments are required: --db": "Fix the server's command-line",
    "docker: Cannot connect to the Docker daemon at unix:///x. Is the …": "Start Docker",
    "the input device is not a TTY": "Leave out -t",
    "listen EADDRINUSE :::80": "already uses that port",
    "EACCES: /x": "Give this user access",
    "Need to install the following packages:\nx": "the one you mean, then add -y",
    "env: ‘node\\r’: No such file or directory": "LF line ends",
    "env: python3\\r: No such file or directory": "LF line ends",
}


@each_row("stderr", LAST_WORDS)
def test_the_last_words_of_a_server_say_what_to_do(stderr: str) -> None:
    """F-SHOW-2, F-SHOW-15"""
    assert LAST_WORDS[stderr] in ProcessExited(["x"], 1, stderr).hint
    killed = ProcessExited(["x"], 137, "")
    assert "killed by signal 9" in str(killed) and "process was killed" in killed.hint


def test_noise_on_stdout_is_what_to_mend() -> None:
    """F-SHOW-1"""
    error = CallTimeout("initialize", 3, "connect")
    error.target, error.output, error.stderr = "python x.py", "Starting…", "warming up"
    assert error.hint == "Its stdout is not JSON-RPC: logs belong on stderr."
    assert str(error) == (
        "python x.py: not connected within 3 s (connect_timeout), waiting for initialize\n"
        "its stdout is not JSON-RPC:\nStarting…\n"
        "last stderr output:\nwarming up"
    )


@each_row("word", ["A_", "A_B ", "need ", "[mcpclient sandbox] ", "env: "])
def test_no_stderr_of_a_server_takes_a_hint_long(word: str) -> None:
    """F-SHOW-15: a server may write anything; a quadratic pattern takes minutes for this."""
    began = process_time()
    assert ProcessExited(["x"], 1, word * (32 * 1024 // len(word))).hint
    assert process_time() - began < 5


def test_better_advice_stays_with_the_error() -> None:
    """F-SHOW-15"""
    error = UsageError("x").advise("Do that.")
    assert error.hint == error.again().hint == "Do that."


def test_an_error_of_the_callers_own_kind_and_any_other() -> None:
    """F-SHOW-15"""

    class Mine(UsageError):
        pass

    assert Mine("x").hint == UsageError("x").hint
    assert hint_for(ValueError("x")) == ""


def test_a_timeout_tells_what_the_server_did_instead() -> None:
    """F-SHOW-15"""
    error = CallTimeout("initialize", 3, "connect")
    error.lacks_stdin = True
    assert error.hint.startswith("Add -i")
    error.lacks_stdin, error.output = False, "Starting…\n{\n"
    assert (
        error.hint
        == noise_hint("{")
        == "Have the server send each message on one line: " + ("it spreads JSON over several.")
    )
    error.stray_ids = (9,)
    assert error.hint.startswith("Report it")
    assert noise_hint("a banner").startswith("Its stdout is not JSON-RPC")


def test_params_of_another_request_are_no_arguments_of_a_tool() -> None:
    """F-SHOW-15"""
    error = PeerError(-32602, "x")
    assert "input_schema" in error.hint
    error.method, error.subject, error.target = "resources/read", "a://b", "files"
    assert error.hint == "Correct the params of resources/read as the server says."
    assert str(error) == "files answered resources/read 'a://b' with error -32602: x"
