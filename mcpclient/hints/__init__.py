"""Hints: the next step after an error, one sentence made from the error's kind and fields.

All hints are kept here, so that they are worded alike. They are templates: ``{ca_file}`` is
``ca_file=`` in Python, and ``--ca-file`` on the command line. `McpError.hint` looks up the names of
an error's classes, the most derived first. Kinds are strings, since exceptions import this.
"""

from __future__ import annotations

import re
from typing import Any

from .words import CHECK_ENDPOINT, PYTHON, SERVER_FAILED, Hint, Speech, by_field, looked_up, worded

_GIVE_VARIABLE = "Give the variable that the server needs: {env} with {0}"
_REPORT = "Report it to the author of the server; {trace} records the messages."
_BY_FORCE = (
    "The process was killed, possibly because the system ran out of memory. Check the system log."
)
_CRASHES = (4, 5, 6, 7, 8, 11)  # SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV
_CRASHED = "The server crashed: report it to its author, with the crash report of the system."
_CRLF = "The first line of {0} ends in CRLF: save it with LF line ends, as dos2unix does."
_CRLF_NAMED = (
    "The script's first line, for {0}, ends in CRLF: save it with LF line ends (dos2unix)."
)
_DOCKER_STDIN = "Add -i behind docker run: without it the container has no stdin to read from."

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

_FILES = {
    "is_a_directory": "Name the program in that folder, or the script and what runs it.",
    "not_executable": "Name the program that runs it first, or make it executable: chmod +x",
    "no_interpreter": "Name the program that runs it first.",
    "interpreter_missing": "Install what its first line names, or name another one first.",
}


# By the name of a command, the first pattern that it begins with; {0}: the name, {1}: a group.
_BY_COMMAND = {
    r"(?:cd|export|set|source|\.|alias|exec|eval|nohup|&&)\Z|[A-Za-z_]\w*=": (
        "No shell reads this: give the program itself, its folder as {cwd}, and variables as {env}"
    ),
    r"[~$%]": "Write the full path: ~ and environment variables are not expanded here.",
    r"['\"]": "Leave out the quotes around the program.",
    r"@[\w.-]+/[\w.@-]+\Z": (
        "{0} looks like a package of npm: look it up there first, then put npx before its name."
    ),
    r"(?i).*\.(?:py|js|mjs|cjs|ts)\Z": (
        "Give the path of the script from the current folder, or an absolute one."
    ),
    r"(?i)(?:https?|wss?)://.+\Z": "{url}\0{0}",
    r"(?i)(https?|wss?)(?::/{0,2}|/{1,2})(.+)\Z": "For a URL, write {1}://{2}",
    r"(?i)(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?(?:/.*)?\Z": (
        "For a URL, write http://{0}"
    ),
    r"(?i)(?=.*[/:])[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?::\d+)?(?:/.*)?\Z": (
        "For a URL, write https://{0}"
    ),
    r"(?s).*[… ]": "{apart}",
    r"(?s).*[/\\]": "Check the path; a relative one begins in the current folder, or in {cwd}.",
    r"": "Check the spelling; if it is right, install the program, or give its full path.",
}


def _no_command(error: Any) -> str:
    name = error.command[0]
    if error.kind in _FILES:
        return _FILES[error.kind]
    if error.kind == "crlf_interpreter":
        return _CRLF.replace("{0}", name)
    if name in _INSTALLERS:
        return _INSTALLERS[name]
    matches = ((re.match(pattern, name), hint) for pattern, hint in _BY_COMMAND.items())
    found, hint = next((found, hint) for found, hint in matches if found is not None)
    if "{1}" in hint:
        return hint.replace("{1}", found[1].lower()).replace("{2}", found[2])
    return hint.replace("{0}", name)


def _remote(error: Any) -> str:
    from .remote import REMOTE

    return looked_up(error, REMOTE)


def _not_connected(error: Any) -> str:
    if error.kind == "working_directory":
        return "Give an existing folder that this user may enter as {cwd}"
    is_known = error.kind != "other"
    return (
        _remote(error) if is_known else "Check that the server runs, and that its address is right."
    )


def _exited(error: Any) -> str:
    if error.lacks_stdin:
        return _DOCKER_STDIN
    if error.signal == 9 or error.signal in _CRASHES:
        return _BY_FORCE if error.signal == 9 else _CRASHED
    told = _of_output(error)
    if told and error.exit_code != 0:
        return told
    if error.exit_code == 0:
        return (
            "Run the command in a terminal: a server over stdio has to run until its stdin is "
            "closed; it may need other arguments."
        )
    return "Run the command in a terminal to see why; give the variables that it needs as {env}"


_VARIABLE = r"\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b"
# Hints by a pattern in the server's stderr or its other output; {0}: the pattern's first group. A
# server chooses that text, so no pattern may take time that is quadratic in its length.
_BY_STDERR = {
    r"\[mcpclient sandbox\] the server was ended: (.*)": (
        "Raise that limit of its sandbox, or find out why it needs more: {0}."
    ),
    r"\benv: [‘'\"]?([\w./-]+)(?:\\r|\r).*No such file": _CRLF_NAMED,
    r"(?<![\w./-])([\w./-]+)(?:\^M|\\r|\r): bad interpreter": _CRLF_NAMED,
    r"No module named '?([\w.]+)": (
        "Install the package that provides {0} for this Python, or run the server with a "
        "different interpreter."
    ),
    r"can't open file '?([^'\n]*)": "Check the path of the script: {0} is not there.",
    r"Cannot find module '([^'\n]*)'": "Check the path, or run npm install: {0} is not there.",
    r"could not determine executable": (
        "Check the name of the package: it has no program that npx could run."
    ),
    r"Need to install the following packages|Ok to proceed\?": (
        "npx asks before it installs a package: check that it is the one you mean, then add -y."
    ),
    r"\bE404\b|404 Not Found|not found in the package registry|No matching distribution": (
        "Check the name of the package: there is no package of that name."
    ),
    rf"KeyError: '{_VARIABLE}'": _GIVE_VARIABLE,
    rf"(?i:missing|requires?d?|must|need|not set|please|provide|set)[^\n]{{0,200}}?{_VARIABLE}": (
        _GIVE_VARIABLE
    ),
    rf"{_VARIABLE}[^\n]{{0,200}}(?i:missing|required|must|need|not set|not defined|undefined)": (
        _GIVE_VARIABLE
    ),
    r"(?i:arguments are required|unrecognized arguments|(?:no such|unknown) option"
    r"|missing (?:option|argument))": (
        "Fix the server's command-line arguments; see its message above."
    ),
    r"Cannot connect to the Docker daemon": "Start Docker, and try again.",
    r"input device is not a TTY": "Leave out -t: a server over stdio has no terminal.",
    r"(?i:address already in use)|EADDRINUSE": "Stop the program that already uses that port.",
    r"(?i:permission denied)|EACCES": (
        "Give this user access to the files and ports that the server opens."
    ),
    r"SyntaxError": "Fix the server's program, or run it with a newer interpreter.",
    r"(https?://(?:localhost|0\.0\.0\.0|127\.0\.0\.1|\[::1?\])(?::\d+)?[\w./-]*)": (
        "It serves HTTP at {0}: connect to that URL instead of starting the command."
    ),
    r"(?i)(?:\[y/n\]|\(y/n\)|\?|(?:enter|type|pass\w+|api.?key|token)[^\n]{0,60}:)\s*\Z": (
        "It asks a question on its terminal, but its stdin carries messages only: answer with its "
        "command-line options, or with {env}"
    ),
}
_LOG_LINE = re.compile(r'"(?:level|msg|message|severity|time|timestamp)"')
_OTHER_JSON = "It is perhaps not an MCP server: the JSON that it writes is not JSON-RPC."
# Framings of servers that do not send one line of UTF-8 for each message.
_FRAMING = {
    r"\\x00|\x00|^\\xff\\xfe": (
        "Have the server write UTF-8 to stdout: it writes UTF-16, as PowerShell and .NET may."
    ),
    r"^Content-Length:": (
        "Have the server send each message on one line: it sends Content-Length headers, as "
        "language servers do."
    ),
    r'^\s*(?:[{}\]],?|"(?:jsonrpc|id|method|result)": .*)\s*$': (
        "Have the server send each message on one line: it spreads JSON over several."
    ),
}
_NOISE = "Its stdout is not JSON-RPC: logs belong on stderr."


def _of_output(error: Any) -> str:
    """Return the hint for server output that is not a message, or ""."""
    for pattern, hint in _FRAMING.items():
        if re.search(pattern, error.output, re.MULTILINE):
            return hint
    for pattern, hint in _BY_STDERR.items():
        found = re.search(pattern, error.stderr) or re.search(pattern, error.output)
        if found is not None:
            return hint.replace("{0}", found[1]) if "{0}" in hint else hint
    output = error.output.strip()
    if output.startswith("{") and not _LOG_LINE.search(output):
        return _OTHER_JSON
    return ""


def noise_hint(lines: str) -> str:
    """Return the hint for lines on a server's stdout that are not messages."""
    found = (hint for pattern, hint in _FRAMING.items() if re.search(pattern, lines, re.MULTILINE))
    return next(found, _NOISE)


def _timeout(error: Any) -> str:
    if error.stray_ids:
        return "Report it to the author of the server: an answer has the id of its request."
    if error.lacks_stdin:
        return _DOCKER_STDIN
    if str(error.waiting_for).startswith("the proxy"):
        return _remote(error)
    told = _of_output(error)
    if told or error.output:
        return told or _NOISE
    if error.limit == "connect":
        return "Check that it is an MCP server; if it starts slowly, raise {connect_timeout}"
    option = "{timeout}" if error.limit == "idle" else "{max_timeout}"
    return f"Raise {option} if it needs longer, or look at the server's own log."


def _peer(error: Any) -> str:
    supported = error.data.get("supported") if isinstance(error.data, dict) else None
    if isinstance(supported, list) and supported:
        return f"Update one of the two: the server speaks only {', '.join(map(str, supported))}"
    if error.code == -32602 and error.method not in ("", "tools/call"):
        return f"Correct the params of {error.method} as the server says."
    if error.code == -32601 and error.method in ("initialize", "server/discover"):
        return "It is perhaps not an MCP server: check the command or the URL."
    by_code = {
        -32601: "{offers}",
        -32602: "{call_schema}",
        -32603: SERVER_FAILED,
        -32700: _REPORT,
        -32002: "{resources}",
    }
    return by_code.get(error.code, "Change the request as the server says, or look at its log.")


HINTS: dict[str, Hint] = {
    "McpError": "Read the message of the error; with MCP_DEBUG=true the log says more.",
    "UsageError": "",  # its message says how to correct it, or the code that raises it advises
    "CallRefused": "Change the rule that refused it, or approve the call when asked.",
    "ClientClosed": "{connect}",
    "ServersFailed": "Correct each server that the message names, or do not require it.",
    "SandboxUnavailable": "Use a newer kernel, or start the server elsewhere; {best_effort}.",
    "ServerUnavailable": by_field(
        "status",
        "Wait until the server is connected again, or look up the reason.",
        {
            "needs_approval": "{agree}",
            "needs_auth": "{log_in}",
            "denied": "Change the rule that denies it, or ask whoever wrote it.",
            "disabled": "Enable the server in its file, or with manager.enable(NAME).",
            "closed": "Connect the server again, or open the manager again.",
            "failing": "Call again later, and look up why its calls fail.",
        },
    ),
    "HandlerFailed": "Correct the handler for this request; its exception is __cause__.",
    "NotRecorded": "Record the session again, with this call.",
    "ServerError": _REPORT,
    "PeerError": _peer,
    "UrlElicitationRequired": "Open the URL after asking the user, then make the call again.",
    "ResultMismatch": "Compare returns= with the output schema of the tool.",
    "ToolError": "Change the arguments as the tool says, and call it again.",
    "TaskFailed": "Make the call again.",
    "ProtocolViolation": by_field(
        "kind",
        _REPORT,
        {
            "page": (
                "A page for browsers came: check the path of the URL (many end in /mcp or /sse), "
                "and whether this network wants you to log in first (open any page in a browser)."
            ),
            **dict.fromkeys(("not_json", "not_json_rpc", "not_http"), CHECK_ENDPOINT),
        },
    ),
    "MessageTooLarge": "{bigger}",
    "SkillVerificationError": "Fetch the skill's entry again, and ask the user for approval again.",
    "NotOffered": "{handlers}",
    "SchemaError": "Report it to the author of the server; {unchecked}.",
    "TemplateError": _REPORT,
    "NotChecked": "Ask for a smaller result, or raise schema_limits= in Python.",
    "HttpError": _remote,
    "NetworkError": "Check the network, and try again.",
    "ConnectFailed": _not_connected,
    "CommandNotFound": _no_command,
    "ConnectionLost": by_field(
        "kind",
        "Connect again; the last call may or may not have run.",
        {
            "no_response": CHECK_ENDPOINT,
            "client_certificate": "Give a certificate that the server accepts as {client_cert}.",
        },
    ),
    "ProcessExited": _exited,
    "CallTimeout": _timeout,
    "AuthError": _remote,
}


def hint_for(error: BaseException, speech: Speech = PYTHON) -> str:
    """Return the hint of an error, in the words of Python or of a shell."""
    own = vars(error).get("_hint")
    if own is not None:
        return worded(own, speech)
    return worded(looked_up(error, HINTS), speech)
