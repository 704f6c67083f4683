"""Descriptions of servers, live or recorded, of logins and errors, for the page: no secrets."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable, Union
from urllib.parse import parse_qs, urlsplit

from ..auth.grants import login_facts
from ..auth.obtaining import parse_callback
from ..auth.options import OAuth
from ..auth.url_guard import host_of
from ..client.client import Client
from ..client.connection.connection import all_pages
from ..client.connection.options import Options
from ..client.requests import connection_of
from ..display import shown_path, shown_url, shown_words
from ..errors import McpError, ProtocolViolation, UsageError
from ..errors.authorization import AuthorizationRequired
from ..hints import hint_for
from ..hints.shell import SHELL
from ..hints.words import Speech
from ..net.clocks import seconds_since_epoch, working_seconds
from ..net.login.authentication import OAuthAuthorizer
from ..net.login.static import forget_variables
from ..protocol.json_schema import pointer_tokens
from ..protocol.negotiation import era_of
from ..protocol.schema import violations_of
from ..protocol.schema.values import describe
from ..recording.redaction import Redactor
from ..recording.secrets import may_be_secret
from ..recording.transcript import error_facts, message_of
from .spans import Span

_PAGE: Speech = {
    **SHELL,
    **{name: f"{name} of its configuration" for name in ("ca_file", "cwd", "env", "proxy")},
    "auth": "the server's configuration",
    "call_schema": "Compare the arguments with the form, or with the definition below it.",
    "connect": "Connect first, by the button above.",
    "connect_timeout": "the timeout of its configuration",
    "credentials": "Log in with another account, or configure a token that may do this.",
    **dict.fromkeys(
        ("grant_network", "grant_read", "grant_write"),
        "Grant it in the sandbox of its configuration.",
    ),
    "handlers": "Nothing answers such questions here: see what this client handles, on its page.",
    "identify": "Log in by the button above, or configure a token for the server.",
    "log_in": "Log in again, by the button above.",
    "max_timeout": "the timeout below the form",
    "offers": "See the lists on the left, and the capabilities of the server on its page.",
    "resources": "See which resources the server has, in the list on the left.",
    "timeout": "the timeout below the form",
    "trace": "the records on the right",
    "visit": "Log in by the button above.",
}


def described_error(error: BaseException | None) -> dict[str, Any] | None:
    """Return an error without secrets: ``type``, ``text``, and a ``hint`` or None."""
    if error is None:
        return None
    facts = error_facts(error, Redactor())
    hint = hint_for(error, _PAGE) if isinstance(error, McpError) else ""
    return {"hint": hint or None, **facts}


def described_client(client: Client) -> dict[str, Any]:
    """Return the description of a client and its server, connected or not."""
    connection = connection_of(client)
    options = connection.options
    version = client.protocol_version
    headers, auth = options.headers, options.auth
    kind = "a bearer token" if isinstance(auth, str) else type(auth).__name__
    return {
        "target": client.target,
        "copied": copied_target(connection.route.destination, options),
        "transport": client.transport_name if client.is_connected else None,
        "version": version,
        "era": era_name(version),
        "server": client.server_info.raw,
        "capabilities": client.capabilities,
        "instructions": client.instructions,
        # Names only: the values may be secrets of the program.
        "headers": list(headers) if isinstance(headers, Mapping) else [],
        "headers_are_computed": callable(headers),
        "env": list(options.env or ()),
        "inherit_env": options.inherit_env,
        "auth": None if auth is None else kind,
        "has_login": login_of(client) is not None,
        "timeout": options.timeouts.connect,
        "answers": sorted(options.handlers.capabilities),
    }


def era_name(version: object) -> str | None:
    """Return the name of the era of a revision; None for an unknown one."""
    era = era_of(version) if isinstance(version, str) else None
    return None if era is None else era.value


async def described_login(client: Client, error: BaseException | None) -> dict[str, Any]:
    """Return the description of a login, which never holds a token.

    - ``login``: see `login_facts`; None without a login.
    - ``visit`` and ``host``: the address that the user has to visit before `finish_login`, if
      ``error``, the reason why the client is not connected, names one.
    """
    authorizer = login_of(client)
    grant = await authorizer.stored_grant() if authorizer is not None else None
    facts = login_facts(grant, seconds_since_epoch()) if grant is not None else None
    visit = error.url if isinstance(error, AuthorizationRequired) else ""
    if "state" not in parse_qs(urlsplit(visit).query):
        return {"login": facts, "visit": None, "host": None}
    return {"login": facts, "visit": visit, "host": host_of(visit)}


async def finish_login(client: Client, address: str) -> None:
    """Finish a login with the address that the browser ended at. Raises as `finish_auth`."""
    try:
        authorizer, callback = known_login(client), parse_callback(address)
    except UsageError as error:
        forget_variables(error)
        raise
    finally:
        del address  # so that no traceback holds it: see forget_variables
    await authorizer.finish(callback)


def login_of(client: Client) -> OAuthAuthorizer | None:
    """Return the login of a client that obtains tokens and keeps them, or None."""
    authorizer = connection_of(client).route.authorizer
    return authorizer if isinstance(authorizer, OAuthAuthorizer) else None


def known_login(client: Client) -> OAuthAuthorizer:
    """Return the same. Raises `UsageError` for a client without a login."""
    if (authorizer := login_of(client)) is None:
        raise UsageError("there is no login to this server")
    return authorizer


Word = list[Union[str, dict[str, str]]]
"""Strings, and ``{"variable": NAME}`` in place of the values of variables."""

_NUMBER = re.compile(r"-?[0-9]{1,6}(?:\.[0-9]{1,6})?")
# What is before the value, and its name.
_OPTION = re.compile(r"((--?[A-Za-z][\w-]*)(?:=|\Z))(.*)", re.DOTALL)
_ASSIGNMENT = re.compile(r"(([A-Za-z_]\w*)=)(.*)", re.DOTALL)
_PLAIN = re.compile(r"@?[A-Za-z]{1,20}(?:[-_.,:@/][A-Za-z]{1,20}[0-9]{0,3}|[-_.,:@/][0-9]{1,5})*")
_PATH = re.compile(r"(?:/|\.{1,2}(?:[/\\]|$)|~|[A-Za-z]:[/\\])[\w ./\\~+@,()-]*")
# Short options whose values often are keys, passwords, tokens, users or headers.
_TELLING_OPTIONS = frozenset({"-H", "-P", "-a", "-k", "-p", "-t", "-u"})


def copied_target(destination: str | Sequence[str] | None, options: Options) -> dict[str, Any]:
    """Return the way to reach a server: ``url``, a word, or ``command``, words, and ``cwd``.

    ``oauth``: the options of a login that are not secret.
    A command that is copied has to run, so more of it is kept than `display` shows in messages:
    options, paths, numbers and plain words. Every other value is replaced by an environment
    variable named after it; the command runs as soon as that is set.
    """
    if destination is None:
        return {}
    if not isinstance(destination, str):
        cwd = {} if options.cwd is None else {"cwd": os.fspath(options.cwd)}
        return {"command": copied_command(destination), **cwd}
    copied: dict[str, Any] = {"url": copied_url(destination)}
    if isinstance(options.auth, OAuth):
        told = {name: getattr(options.auth, name) for name in ("client_id", "local_development")}
        copied["oauth"] = {name: value for name, value in told.items() if value}
    return copied


def copied_url(url: str) -> Word:
    """Return a URL as a word. If its beginning may hold a secret, all of it is one variable."""
    base, mark, query = url.partition("?")
    if shown_url(base) != base:
        return [{"variable": "SERVER_URL"}]
    word: Word = []
    text = base + mark
    for index, pair in enumerate(query.split("&") if query else ()):
        name, equals, value = pair.partition("=")
        text += f"{'&' if index else ''}{name}{equals}"
        if not value or (_is_harmless(value) and not _names_a_secret(name)):
            text += value
        else:
            word += [text, {"variable": _variable(name)}]
            text = ""
    return [*word, text] if text else word


def copied_command(command: Sequence[str]) -> list[Word]:
    """Return the words of a command."""
    words: list[Word] = []
    option = ""  # whose value the next word may be
    for index, (word, shown) in enumerate(zip(command, shown_words(command))):
        found = _OPTION.fullmatch(word) or _ASSIGNMENT.fullmatch(word)
        before, name, value = found.groups() if found is not None else ("", option, word)
        is_number = found is None and _NUMBER.fullmatch(word)
        is_harmless = name[:1] in ("", "-") and _is_harmless(value) and not _names_a_secret(name)
        if word in (shown, "--") or not value or is_number or is_harmless:
            words.append([word])
        else:
            named = name.lstrip("-") if len(name) > 2 else f"argument_{index}"
            words.append([*filter(None, [before]), {"variable": _variable(named)}])
        option = name if before == name else ""
    return words


def _names_a_secret(name: str) -> bool:
    return may_be_secret(name) or name in _TELLING_OPTIONS or name.lower().endswith("key")


def _is_harmless(text: str) -> bool:
    """Whether a string cannot be a secret: it is a number, a path, a URL, or plain words."""
    if "://" in text:
        return shown_url(text) == text
    is_plain = any(kind.fullmatch(text) for kind in (_NUMBER, _PATH, _PLAIN))
    return is_plain and shown_path(text) == text


def _variable(name: str) -> str:
    text = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").upper()
    return text if text and not text[0].isdigit() else f"VALUE_{text}"


Lists = dict[str, Any]
"""``tools``, ``resources``, ``templates``, ``prompts``: each a list of entries as they came.
``errors``: the error of a list that failed, by list."""

# Of each list: its capability, its name, its method, and its name in results.
LISTS = (
    ("tools", "tools", "tools/list", "tools"),
    ("resources", "resources", "resources/list", "resources"),
    ("resources", "templates", "resources/templates/list", "resourceTemplates"),
    ("prompts", "prompts", "prompts/list", "prompts"),
)


async def fetch_lists(client: Client, *, fresh: bool = False) -> Lists:
    """Fetch the lists of a server. One that fails is empty, and its error is in ``errors``.

    Entries are as the server sent them, malformed ones included. The client does not remember them,
    so that the program it belongs to behaves as it does without an inspector.
    """
    found: dict[str, list[Any]] = {name: [] for _, name, _, _ in LISTS}
    errors: dict[str, Any] = {}
    for capability, name, method, key in LISTS:
        if capability in client.capabilities:
            try:
                found[name] = await _entries(client, method, key, fresh=fresh)
            except McpError as error:
                errors[name] = described_error(error)
    return {**found, "errors": errors}


async def _entries(client: Client, method: str, key: str, *, fresh: bool) -> list[Any]:
    entries: list[Any] = []

    async def fetch(params: Mapping[str, Any]) -> Mapping[str, Any]:
        result: Mapping[str, Any] = await client.request(method, params, fresh=fresh)
        page = result.get(key)
        if not isinstance(page, list):
            raise ProtocolViolation(f"the result of {method} has no list {key!r}")
        entries[:] = [*entries, *page] if params else page  # without a cursor it begins anew
        return result

    await all_pages(fetch, key)
    return entries


_MISSING = re.compile(r"the required member '([^'\\]*)' is missing")


def form_problems(schema: Any, value: Any) -> list[dict[str, Any]]:
    """Return the violations of a schema in a value, each with its ``path`` and a ``text``.

    The text does not show the value, which may be a secret. A member that is missing has its own
    place. Nothing is wrong by a schema that cannot be used: the server has the last word.
    """
    problems = []
    for violation in violations_of(value, schema, clock=working_seconds, assert_formats=True):
        path: list[str | int] = []
        part = value
        for name in pointer_tokens(violation.instance_path):
            if isinstance(part, list):
                path.append(int(name))
                part = part[int(name)]
            else:
                path.append(name)
                part = part.get(name, {})
        text = violation.message.removeprefix(f"{describe(part)} ")
        if (missing := _MISSING.fullmatch(text)) is not None:
            path, text = [*path, missing[1]], "is required"
        problems.append({"path": path, "text": text})
    return problems


_OPENING = ("initialize", "server/discover")

Described = Mapping[str, Any]
"""A request and its outcome, as `described_call` returns it."""


def described_call(span: Span, line: Callable[[int], str | None]) -> dict[str, Any]:
    """Return a request: ``number``, ``method``, ``params``, ``seconds`` and ``outcome``.

    ``line`` returns a record. The outcome is a result, a JSON-RPC error, a failure, or
    ``{"http": status}``; None while there is none.
    """
    request, ended = line(span.number), None if span.end is None else line(span.end)
    params = _message(request, "method", span.method).get("params")
    record = json.loads(ended) if ended is not None else {}
    outcome = record.get("error")
    if span.state in ("done", "failed") and "error" not in record:
        answer = message_of(record)
        answer = answer[-1] if isinstance(answer, list) and answer else answer
        if isinstance(answer, dict):
            outcome = answer.get("error", answer.get("result"))
        else:
            outcome = {"http": record.get("http", {}).get("status")}
    seconds = None if span.ended is None else round(span.ended - span.began, 6)
    number, method = span.number, span.method
    return {
        **{"number": number, "method": method, "params": params},
        **{"seconds": seconds, "outcome": outcome},
    }


def _message(line: str | None, member: str, value: str) -> Mapping[str, Any]:
    message = message_of(json.loads(line)) if line is not None else None
    found = message if isinstance(message, list) else [message]
    fits = (each for each in found if isinstance(each, dict) and each.get(member) == value)
    return next(fits, {})


def described_recording(header: Mapping[str, Any], calls: Iterable[Described]) -> dict[str, Any]:
    """Return what `described_client` does, as far as a recording holds it."""
    opening: Mapping[str, Any] = {}
    for call in calls:
        outcome = call["outcome"]
        if call["method"] in _OPENING and isinstance(outcome, dict) and "capabilities" in outcome:
            opening = outcome
    meta = opening.get("_meta")
    named = meta.get("io.modelcontextprotocol/serverInfo") if isinstance(meta, dict) else None
    versions = opening.get("supportedVersions")
    newest = versions[0] if isinstance(versions, Sequence) and versions else None
    version = opening.get("protocolVersion") or newest
    return {
        "target": header.get("target"),
        "transport": header.get("transport"),
        "version": version,
        "era": era_name(version),
        "server": named or opening.get("serverInfo") or {},
        "capabilities": opening.get("capabilities") or {},
        "instructions": opening.get("instructions"),
        "recorded": header.get("recorded"),
    }


def recorded_lists(calls: Iterable[Described]) -> dict[str, list[Any]]:
    """Return the lists of a recorded server as they were last fetched, all pages of each."""
    found: dict[str, list[Any]] = {name: [] for _, name, _, _ in LISTS}
    by_method = {method: (name, key) for _, name, method, key in LISTS}
    for call in calls:
        name, key = by_method.get(call["method"], ("", ""))
        page = call["outcome"].get(key) if name and isinstance(call["outcome"], dict) else None
        if isinstance(page, list):
            params = call["params"]
            continues = isinstance(params, dict) and "cursor" in params
            # A new listing begins without a cursor.
            found[name] = [*found[name], *page] if continues else page
    return found
