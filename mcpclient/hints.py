"""Hints: the next step after an error, one sentence made from the error's kind and fields.

All hints are kept here, so that they are worded alike. They are templates: ``{ca_file}`` is
``ca_file=`` in Python, and ``--ca-file`` on the command line. `McpError.hint` looks up the names of
an error's classes, the most derived first. Kinds are strings, since exceptions import this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Callable, Union

Speech = Mapping[str, str]
"""The spelling of options and calls, by their names in a hint."""

PYTHON: Speech = {
    **{name: f"{name}=" for name in ("ca_file", "client_cert", "connect_timeout", "cwd", "env")},
    **{name: f"{name}=" for name in ("max_timeout", "proxy", "timeout", "trace")},
    **dict.fromkeys(("auth", "token"), "auth="),
    "agree": "Give approvals= an Approvals(ask=…), or name the file itself: connect_all(path).",
    "any_certificate": "verify=False accepts any",
    "apart": "Give the command as a list with one item for each word.",
    "best_effort": "Sandbox(…, best_effort=True) starts it with what can be denied",
    "bigger": "Raise max_message_size= if such messages are expected.",
    "call_schema": "Compare the arguments with client.tools[NAME].input_schema.",
    "connect": "Connect first: async with mcpclient.connect(…) as client.",
    "credentials": "Give auth= with credentials that are allowed to do this.",
    "grant_network": "Grant it with Sandbox(network=True).",
    "grant_read": "Grant it with Sandbox(read=['{0}']).",
    "grant_write": "Grant it with Sandbox(write=['{0}']).",
    "handlers": "Give connect() the handler for it: elicitation=, sampling= or roots=.",
    "identify": "Give auth=: a token as a string, or mcpclient.OAuth() for a login in the browser.",
    "log_in": "Log in again, with auth=mcpclient.OAuth().",
    "negotiate": "auth=mcpclient.Negotiate()",
    "proxy_negotiate": "proxy_auth=mcpclient.Negotiate()",
    "offers": "See the server's offers in client.capabilities and client.list_tools().",
    "or_retry": ", or let retry_busy=True do that",
    "resources": "Ask the server which resources it has: client.list_resources().",
    "url": "Give the URL itself as a string, not as a command: {0}",
    "visit": "Let the user visit the URL, then call mcpclient.finish_auth().",
    "unchecked": 'validate="off" checks no results',
}
SHELL: Speech = {
    **{name: f"--{name.replace('_', '-')}" for name in ("ca_file", "cwd", "env", "max_timeout")},
    **{name: f"--{name}" for name in ("proxy", "timeout", "trace")},
    "auth": "--bearer",
    "token": "--bearer TOKEN",
    "agree": "Run it on a terminal to be asked, or vouch for the file with --config FILE.",
    "any_certificate": "--insecure accepts any",
    "apart": "Write the words of the command apart, without quotes around all of them.",
    "best_effort": "without --sandbox it has all of your rights",
    "bigger": "Ask for less at once, or call it from Python with a larger max_message_size.",
    "call_schema": "Compare the arguments with what this shows: mcpclient tools SERVER TOOL",
    "client_cert": "clientCert in its configuration",
    "connect": "Run the command again.",
    "connect_timeout": "--timeout",
    "credentials": (
        "Log in with another account, or give a token that may do this: --bearer TOKEN"
    ),
    "grant_network": "Grant it with --allow-network.",
    "grant_read": "Grant it with --allow-read '{0}'.",
    "grant_write": "Grant it with --allow-write '{0}'.",
    "handlers": "Answer it on a terminal, or say how with --elicit and --model.",
    "identify": "Give a token as --bearer TOKEN, or log in with: mcpclient auth login URL",
    "log_in": "Log in again: mcpclient auth login URL",
    "negotiate": "--negotiate",
    "proxy_negotiate": "--proxy-negotiate",
    "offers": "See the server's capabilities and tools with: mcpclient info SERVER",
    "or_retry": "",
    "resources": "See which resources the server has with: mcpclient resources SERVER",
    "url": "Give the URL itself, without -- before it: {0}",
    "visit": "Log in with: mcpclient auth login URL",
    "unchecked": "the other tools can be used meanwhile",
}
_NAMES = re.compile(r"\{([a-z_]+)\}")

# Hints that several errors share.
_CHECK_ENDPOINT = "Check that the URL is an MCP endpoint; many end in /mcp or /sse."
_GIVE_VARIABLE = "Give the variable that the server needs: {env} with {0}"
_REPORT = "Report it to the author of the server; {trace} records the messages."
_SERVER_FAILED = "The server has failed: look at its log, or try again later."
_WAIT = "Wait and call again{or_retry}."
_BY_FORCE = (
    "The process was killed, possibly because the system ran out of memory. Check the system log."
)
_CRASHES = (4, 5, 6, 7, 8, 11)  # SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV
_CRASHED = "The server crashed: report it to its author, with the crash report of the system."
_NEGOTIATE = "{0} accepts only {1}: log in as the user of this system, with {{2}}"
_NTLM = (
    "{0} accepts only NTLM, which this client does not speak without Negotiate: use a local proxy "
    "that logs in for you (such as px or cntlm) as {proxy}"
)
_STICKY = (
    "The server forgets its sessions at once: if several instances share this address, have the "
    "balancer keep a session on one of them (by Mcp-Session-Id)."
)
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


def _by(field: str, otherwise: str, hints: Mapping[Any, str]) -> Callable[[Any], str]:
    """Return a function that looks up the hint of an error by one of its fields."""
    return lambda error: hints.get(getattr(error, field), otherwise)


def _not_connected(error: Any) -> str:
    first = error.attempts[0] if error.attempts else None
    if error.kind == "not_an_endpoint" and hasattr(first, "status"):
        return _http(first)
    if error.kind == "proxy_negotiate":
        return _negotiated("The proxy", "NTLM" if "by NTLM" in error.reason else "Negotiate")
    return _CONNECTING.get(error.kind, "Check that the server runs, and that its address is right.")


def _negotiated(who: str, scheme: str) -> str:
    if scheme.upper() == "NTLM":
        return _NTLM.replace("{0}", who)
    option = "proxy_negotiate" if who == "The proxy" else "negotiate"
    return _NEGOTIATE.replace("{0}", who).replace("{1}", scheme).replace("{2}", option)


_AUTHORITY = "If you trust the server, give the PEM file of its authority as {ca_file}, or in"
_CONNECTING = {
    "working_directory": "Give an existing folder that this user may enter as {cwd}",
    "unknown_host": "Check the name of the host in the URL.",
    "refused": "Start the server, and check the port in the URL.",
    "proxy": "Check {proxy}, HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.",
    "proxy_credentials": (
        "Write the proxy's user and password into its URL: {proxy} …://user:password@host:port"
    ),
    "proxy_login": "Look at your tickets with klist; the proxy may not accept this user.",
    "not_tls": "Write http:// instead of https:// (ws:// instead of wss://).",
    "tls": "Check that the server speaks TLS 1.2 or later on this port.",
    "certificate": f"{_AUTHORITY} SSL_CERT_FILE.",
    "self_signed": (
        "If you trust the server, give its certificate as {ca_file}, or in SSL_CERT_FILE."
    ),
    "unknown_authority": (
        f"{_AUTHORITY} SSL_CERT_FILE. Where a proxy of your network inspects TLS, it is that "
        "authority, and its operator has the file."
    ),
    "expired": "Have the server get a new certificate; {any_certificate}.",
    "not_yet_valid": "Check the clock of this machine; {any_certificate} certificate.",
    "other_host": "Connect by a name that the certificate is for; {any_certificate}.",
    "client_certificate": "Give a certificate that the server accepts as {client_cert}.",
    "closed_early": "Check the port and the scheme of the URL, then the server's log.",
    "not_an_endpoint": _CHECK_ENDPOINT,
}


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
        return _CONNECTING["proxy"]
    told = _of_output(error)
    if told or error.output:
        return told or _NOISE
    if error.limit == "connect":
        return "Check that it is an MCP server; if it starts slowly, raise {connect_timeout}"
    option = "{timeout}" if error.limit == "idle" else "{max_timeout}"
    return f"Raise {option} if it needs longer, or look at the server's own log."


_REGISTER = (
    "Ask the operator of the authorization server for a client_id, or give a token of your own as "
    "{auth}"
)
_TOKEN = "The server needs a token: give it as {token}, or under headers in its configuration file."


def names_no_login(error: BaseException) -> bool:
    """Whether a server refused a request without naming where to log in: it wants a plain token."""
    cause: Any = error.__cause__
    challenges = "".join(getattr(cause, "authenticate", ()))
    return getattr(cause, "status", 0) == 401 and "resource_metadata" not in challenges


_LOGIN_PAGE = re.compile(
    r"(?i)log-?[io]n|sign-?in|auth|sso|portal|saml|adfs|\bidp\b|okta|openid|accounts?\.|/cas\b"
)


def _http(error: Any) -> str:
    wait = error.headers.get("retry-after", "")
    if error.status in (429, 503) and wait.isdigit():
        return f"Wait {wait} seconds and call again{{or_retry}}."
    if 300 <= error.status < 400:
        location = error.headers.get("location", "").split("?")[0]
        if _LOGIN_PAGE.search(location):
            return f"It sends browsers to a login at {location}. {{identify}}\0{error.url}"
        return f"Use the address that it names: {location}" if location else _CHECK_ENDPOINT
    if b"HTTPS" in error.body and error.status == 400:
        return "The server wants TLS on this port: write https:// instead of http://"
    if error.negotiated:
        return _negotiated("The proxy" if error.status == 407 else "The server", error.negotiated)
    if error.status == 401:
        is_refused = "invalid_token" in "".join(error.authenticate)
        return f"{'The token was refused. ' if is_refused else ''}{{identify}}\0{error.url}"
    if error.status == 403 and "html" in error.headers.get("content-type", "").lower():
        return (
            "A gateway in front of the server refused this with a page: log in to its network, or "
            "have it let this client through (with a header of its own, for instance)."
        )
    by_status = {
        403: "{credentials}",
        407: "Give the proxy's user and password in the URL of {proxy}.",
        429: _WAIT,
        503: _WAIT,
    }
    return by_status.get(error.status, _SERVER_FAILED if error.status >= 500 else _CHECK_ENDPOINT)


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
        -32603: _SERVER_FAILED,
        -32700: _REPORT,
        -32002: "{resources}",
    }
    return by_code.get(error.code, "Change the request as the server says, or look at its log.")


Hint = Union[str, Callable[[Any], str]]

HINTS: dict[str, Hint] = {
    "McpError": "Read the message of the error; with MCP_DEBUG=true the log says more.",
    "UsageError": "",  # its message says how to correct it, or the code that raises it advises
    "CallRefused": "Change the rule that refused it, or approve the call when asked.",
    "ClientClosed": "{connect}",
    "ServersFailed": "Correct each server that the message names, or do not require it.",
    "SandboxUnavailable": "Use a newer kernel, or start the server elsewhere; {best_effort}.",
    "ServerUnavailable": _by(
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
    "ProtocolViolation": _by(
        "kind",
        _REPORT,
        {
            "page": (
                "A page for browsers came: check the path of the URL (many end in /mcp or /sse), "
                "and whether this network wants you to log in first (open any page in a browser)."
            ),
            **dict.fromkeys(("not_json", "not_json_rpc", "not_http"), _CHECK_ENDPOINT),
        },
    ),
    "MessageTooLarge": "{bigger}",
    "SkillVerificationError": "Fetch the skill's entry again, and ask the user for approval again.",
    "NotOffered": "{handlers}",
    "SchemaError": "Report it to the author of the server; {unchecked}.",
    "TemplateError": _REPORT,
    "NotChecked": "Ask for a smaller result, or raise schema_limits= in Python.",
    "HttpError": _http,
    "SessionExpired": lambda error: _STICKY if error.is_new else "Connect again.",
    "NetworkError": "Check the network, and try again.",
    "ConnectFailed": _not_connected,
    "CommandNotFound": _no_command,
    "ConnectionLost": _by(
        "kind",
        "Connect again; the last call may or may not have run.",
        {
            "no_response": _CHECK_ENDPOINT,
            "client_certificate": _CONNECTING["client_certificate"],
        },
    ),
    "ProcessExited": _exited,
    "CallTimeout": _timeout,
    "AuthError": (
        "Log in once more; if that does not help, ask the server's operator, or give a token of "
        "your own as {auth}"
    ),
    "AuthorizationRequired": "{visit}",
    "AuthorizationDenied": "Log in again and agree, or use another account.",
    "RegistrationRequired": lambda error: _TOKEN if names_no_login(error) else _REGISTER,
    "TokenRequestFailed": _by(
        "is_refusal",
        "Try again later: something is wrong at the token endpoint.",
        {True: "Check client_id and secret, or log in again."},
    ),
    "InsufficientScope": "Ask the server's operator which account may do this.",
    "SsrfError": "Ask the server's operator for correct metadata; allowed_hosts= makes exceptions.",
}


def hint_for(error: BaseException, speech: Speech = PYTHON) -> str:
    """Return the hint of an error, in the words of Python or of a shell."""
    own = vars(error).get("_hint")
    if own is not None:
        return worded(own, speech)
    for kind in type(error).__mro__:
        hint = HINTS.get(kind.__name__)
        if hint is not None:
            return worded(hint if isinstance(hint, str) else hint(error), speech)
    return ""


def worded(template: str, speech: Speech = PYTHON) -> str:
    """Return a hint with its options and calls filled in; unknown names stay as they are."""
    text, _, about = template.partition("\0")
    text = _NAMES.sub(lambda found: speech.get(found[1], found[0]), text)
    if about:
        text = text.replace("{0}", about).replace("login URL", f"login {about}")
    return text
