"""What to do about each kind of error: one sentence, made of the error's own fields.

They stand side by side, so that they speak alike. `McpError.cure` looks here by the names of an
error's classes, the most derived first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Callable, Union

__all__ = ["CHECK_ENDPOINT", "CURES", "cure_for"]

_SCRIPT = re.compile(r"(?i).*\.(?:py|js|mjs|cjs|ts)")
_NPM_SCOPE = re.compile(r"@[\w.-]+/[\w.@-]+")
_LOCAL_ADDRESS = re.compile(r"(?i)(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?(?:/.*)?")
_ADDRESS = re.compile(r"(?i)[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?::\d+)?(?:/.*)?")
_MISTYPED_URL = re.compile(r"(?i)(https?):?/{0,2}(.+)")

# What is said of several errors.
CHECK_ENDPOINT = "Check that the URL is that of an MCP endpoint; many end in /mcp or /sse."
_GIVE_VARIABLE = "Give the variable that the server needs: env= with {0}"
_REPORT = "Report it to the author of the server; a trace= shows what was said."
_SERVER_FAILED = "The server has failed: look at its log, or try again later."
_WAIT = "Wait and call again, or let the client do that with retry_busy=True."

_INSTALLERS = {
    "npx": "npx comes with Node.js: install that from https://nodejs.org",
    "npm": "npm comes with Node.js: install that from https://nodejs.org",
    "node": "Install Node.js from https://nodejs.org",
    "uvx": "uvx comes with uv: install that as https://docs.astral.sh/uv says",
    "uv": "Install uv as https://docs.astral.sh/uv says",
    "bunx": "bunx comes with Bun: install that from https://bun.sh",
    "deno": "Install Deno from https://deno.com",
    "docker": "Install Docker, or a program that takes its commands.",
}

# What only a shell knows.
_OF_SHELLS = {"cd", "export", "set", "source", ".", "alias", "exec", "eval", "nohup", "&&"}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")

_BY_KIND_OF_FILE = {
    "is a directory": "Name the program in that folder, or the script and what runs it.",
    "is not executable": "Name the program that runs it first, or make it executable: chmod +x",
    "names no interpreter": "Name the program that runs it first.",
    "the interpreter or loader": "Install what its first line names, or name another one first.",
}


def _no_command(error: Any) -> str:
    name = error.command[0]
    for part, cure in _BY_KIND_OF_FILE.items():
        if part in error.reason:
            return cure
    if name in _INSTALLERS:
        return _INSTALLERS[name]
    if name in _OF_SHELLS or _ASSIGNMENT.match(name):
        return (
            "There is no shell that reads this: give the program itself, its folder as cwd=, and "
            "variables as env="
        )
    if name.startswith(("~", "$", "%")):
        return "Write the path out: here ~ and variables stand for nothing."
    if name[:1] in ("'", '"'):
        return "Leave out the quotes around the program."
    mistyped = _MISTYPED_URL.fullmatch(name)
    if _NPM_SCOPE.fullmatch(name):
        return f"{name} looks like a package of npm: run it with npx -y {name}"
    if _SCRIPT.fullmatch(name):
        return "Give the path of the script from the current folder, or an absolute one."
    if mistyped is not None:
        return f"For a URL, write {mistyped[1].lower()}://{mistyped[2]}"
    if _LOCAL_ADDRESS.fullmatch(name):
        return f"For a URL, write http://{name}"
    if _ADDRESS.fullmatch(name) and ("/" in name or ":" in name):
        return f"For a URL, write https://{name}"
    if "…" in name or " " in name:
        return "Give the command as a list with one item for each word."
    if "/" in name or "\\" in name:
        return "Check the path; a relative one begins in the current folder, or in cwd."
    return (
        f"Install it, or give its whole path; a package of npm runs with npx -y {name}, "
        f"one of PyPI with uvx {name}"
    )


def _no_token(error: Any) -> str:
    if error.is_refusal:
        return "Check client_id and secret, or log in again."
    return "Try again later: something is wrong at the token endpoint."


def _not_connected(error: Any) -> str:
    for part, cure in _BY_REASON.items():
        if part in error.reason:
            return cure
    return "Check that the server runs, and that its address is right."


_BY_REASON = {
    "proxy": "Check proxy=, HTTP_PROXY, HTTPS_PROXY and NO_PROXY.",
    "not an MCP endpoint": "Check that the URL is that of an MCP endpoint (often /mcp or /sse).",
    "has expired": "Have the server get a new certificate; verify=False accepts any.",
    "not valid yet": "Check the clock of this machine; verify=False accepts any certificate.",
    "is not one for": "Connect by a name that the certificate is for; verify=False accepts any.",
    "client certificate": "Give a certificate that the server accepts as client_cert=.",
    "certificate": "If you trust the server, give the PEM file of its authority as ca_file=.",
    "does not speak TLS": "Write http:// instead of https:// (ws:// instead of wss://).",
    "cannot be resolved": "Check the name of the host in the URL.",
    "nothing listens": "Start the server, and check the port in the URL.",
    "working directory": "Give a folder that exists as cwd=.",
}


def _exited(error: Any) -> str:
    if error.exit_code == 0:
        return (
            "Run the command in a terminal: a server over stdio has to run until its stdin is "
            "closed; it may need other arguments."
        )
    if error.exit_code == -9:
        return "Something ended it by force, perhaps for want of memory: see the system's log."
    for pattern, cure in _BY_STDERR:
        found = pattern.search(error.stderr)
        if found is not None:
            return cure.format(*(group or "" for group in found.groups()))
    return "Run the command in a terminal to see why; variables that it needs are given as env=."


_VARIABLE = r"\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b"
_BY_STDERR = [
    (re.compile(pattern), cure)
    for pattern, cure in (
        (
            r"No module named '?([\w.]+)",
            "Install what has the module {0} for this Python, or run the server with another one.",
        ),
        (r"can't open file '?([^'\n]*)", "Check the path of the script: {0} is not there."),
        (
            r"Cannot find module '([^'\n]*)'",
            "Check the path, or run npm install: {0} is not there.",
        ),
        (
            r"could not determine executable",
            "Check the name of the package: it has no program that npx could run.",
        ),
        (
            r"\bE404\b|404 Not Found|not found in the package registry|No matching distribution",
            "Check the name of the package: there is none of that name.",
        ),
        (rf"KeyError: '{_VARIABLE}'", _GIVE_VARIABLE),
        (
            rf"(?i:missing|requires?d?|must|need|not set|please|provide|set)[^\n]*?{_VARIABLE}",
            _GIVE_VARIABLE,
        ),
        (
            rf"{_VARIABLE}[^\n]*(?i:missing|required|must|need|not set|not defined|undefined)",
            _GIVE_VARIABLE,
        ),
        (
            r"(?i:arguments are required|unrecognized arguments|(?:no such|unknown) option"
            r"|missing (?:option|argument))",
            "Correct the arguments of the server as it says.",
        ),
        (r"Cannot connect to the Docker daemon", "Start Docker, and try again."),
        (r"input device is not a TTY", "Leave out -t: a server over stdio has no terminal."),
        (r"(?i:address already in use)|EADDRINUSE", "End what uses the same port already."),
        (r"(?i:permission denied)|EACCES", "Give this user the right to what the server opens."),
        (r"SyntaxError", "Correct the server's program, or run it with a newer version of it."),
    )
]


def _timeout(error: Any) -> str:
    if error.stray_ids:
        return "Report it to the author of the server: an answer has the id of its request."
    if error.output:
        return "Servers must log to stderr: to stdout go messages, and nothing else."
    if error.limit == "connect":
        return "Check that it is an MCP server; if it only starts slowly, raise connect_timeout="
    option = "timeout" if error.limit == "idle" else "max_timeout"
    return f"Raise {option}= if it needs longer, or look at the server's own log."


def _violation(error: Any) -> str:
    if "html" in error.reason.lower():
        return (
            "A page for browsers came: check the path of the URL (many end in /mcp or /sse), and "
            "whether this network wants you to log in first (open any page in a browser)."
        )
    if "is this an MCP endpoint" in error.reason or "not a JSON-RPC message" in error.reason:
        return CHECK_ENDPOINT
    return _REPORT


def _http(error: Any) -> str:
    wait = error.headers.get("retry-after", "")
    if error.status in (429, 503) and wait.isdigit():
        return f"Wait {wait} seconds and call again, or let retry_busy=True do that."
    if 300 <= error.status < 400:
        location = error.headers.get("location", "").split("?")[0]
        if re.search(r"(?i)log-?in|sign-?in|auth|sso|portal", location):
            return f"It sends browsers to a login at {location}: give a token as auth= instead."
        return f"Use the address that it names: {location}" if location else CHECK_ENDPOINT
    if b"HTTPS" in error.body and error.status == 400:
        return "The server wants TLS on this port: write https:// instead of http://"
    return _BY_STATUS.get(error.status, _SERVER_FAILED if error.status >= 500 else CHECK_ENDPOINT)


_BY_STATUS: Mapping[int, str] = {
    401: "Give auth=: a token as a string, or mcpclient.OAuth() for a login in the browser.",
    403: "Give auth= with credentials that are allowed to do this.",
    404: CHECK_ENDPOINT,
    407: "Give the proxy's user and password in the URL of proxy=.",
    429: _WAIT,
    503: _WAIT,
}
_PEER = {
    -32601: "Ask the server what it offers: client.capabilities and client.list_tools().",
    -32602: "Compare the arguments with the input schema of the tool.",
    -32603: _SERVER_FAILED,
    -32700: _REPORT,
    -32002: "Ask the server which resources it has: client.list_resources().",
}

Cure = Union[str, Callable[[Any], str]]

CURES: dict[str, Cure] = {
    "McpError": "Read the text of the error; with MCP_DEBUG=true the log says more.",
    "UsageError": "Change the call as the text says.",
    "CallRefused": "Change the rule that refused it, or answer True when it is asked about.",
    "ClientClosed": "Connect first: async with mcpclient.connect(…) as client.",
    "ServersFailed": "Mend what is said of each server, or leave it out of required=.",
    "ServerUnavailable": "Wait for the server to be connected again, or see its status.",
    "HandlerFailed": "Correct the handler for what the server asks; what it raised is __cause__.",
    "NotRecorded": "Record the session again, with this call.",
    "ServerError": _REPORT,
    "PeerError": lambda error: _PEER.get(error.code, "Change the call as the server says."),
    "UrlElicitationRequired": "Open the URL after asking the user, then make the call again.",
    "ResultMismatch": "Compare returns= with the output schema of the tool.",
    "ToolError": "Change the arguments as the tool says, and call it again.",
    "TaskFailed": "Make the call again.",
    "ProtocolViolation": _violation,
    "MessageTooLarge": "Raise max_message_size= if such messages are expected.",
    "SkillVerificationError": "Fetch the skill's entry again, and ask the user for approval again.",
    "NotOffered": "Give the handler for it: elicitation=, sampling= or roots=.",
    "SchemaError": 'Report it to the author of the server; validate="off" checks no results.',
    "TemplateError": _REPORT,
    "NotChecked": "Raise schema_limits= if such values are expected.",
    "HttpError": _http,
    "SessionExpired": "Connect again: the server has forgotten the session.",
    "NetworkError": "Check the network, and try again.",
    "ConnectFailed": _not_connected,
    "CommandNotFound": _no_command,
    "ConnectionLost": "Connect again; the last call may or may not have run.",
    "ProcessExited": _exited,
    "CallTimeout": _timeout,
    "AuthError": "Log in again: mcpclient auth login URL",
    "AuthorizationRequired": "Let the user visit the URL, then call mcpclient.finish_auth().",
    "AuthorizationDenied": "Log in again and agree, or use another account.",
    "RegistrationRequired": "Ask the operator of the authorization server for a client_id.",
    "TokenRequestFailed": _no_token,
    "InsufficientScope": "Ask the server's operator which account may do this.",
    "SsrfError": "Ask the server's operator for correct metadata; allowed_hosts= makes exceptions.",
}


def cure_for(error: BaseException) -> str:
    """Return the sentence that says what to do about an error."""
    for kind in type(error).__mro__:
        cure = CURES.get(kind.__name__)
        if cure is not None:
            return cure if isinstance(cure, str) else cure(error)
    return ""
