"""The faults: small edits of the source that a hurried hand could make.

Each says what it breaks. The first table holds those that a server can see, the second any others.
"""

# ruff: noqa: E501 (an edit reads best as it stands in the source)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = ["OTHERS", "VISIBLE", "Fault"]


class Fault(NamedTuple):
    """One edit. ``old`` stands once in the module, whose name is relative to the package."""

    module: str
    breaks: str
    old: str
    new: str


def _faults(table: Mapping[str, Sequence[tuple[str, str, str]]]) -> list[Fault]:
    """The faults of each module: what each breaks, the old text and the new one."""
    return [Fault(module, *edit) for module, edits in table.items() for edit in edits]


VISIBLE = _faults(
    {
        "transports.streamable_http": [
            (
                "event streams are not accepted",
                "application/json, text/event-stream",
                "application/json",
            ),
            ("the session is not named", 'headers.append(("Mcp-Session-Id", session_id))', "pass"),
            (
                "the channel names no session",
                'headers.append(("Mcp-Session-Id", self._session_id))',
                "pass",
            ),
            (
                "a resumption does not say where",
                'headers.append(("Last-Event-ID", last_event_id.encode().decode("latin-1")))',
                "pass",
            ),
            (
                "no session is ended",
                "await self._end_session(self._session_id)",
                "self._session_id = None",
            ),
            ("messages have no content type", '("Content-Type", "application/json"),', ""),
            ("headers of an era are lost", "*caller, *outgoing.headers.items()]", "*caller]"),
            (
                "a call given up stays open",
                "        post.abort()\n        return Abandoned.STREAM_CLOSED",
                "        return Abandoned.STREAM_CLOSED",
            ),
            (
                "the server's own stream lacks the caller's headers",
                "*_GET_HEADERS, *await self._provided_headers(None), *self._session_headers",
                "*_GET_HEADERS, *self._session_headers",
            ),
            (
                "the end of a session lacks the caller's headers",
                "headers += await self._headers.provided_for(None)",
                "pass",
            ),
        ],
        "protocol.eras": [
            (
                "the revision is not named",
                '{"MCP-Protocol-Version": version} if agreed else {}',
                "{}",
            ),
            ("no answer is resumed", "resumable=True,", "resumable=False,"),
            ("a call given up is not cancelled", "else Cancel.NOTIFY", "else Cancel.NOT_ALLOWED"),
            ("initialize names no client", '"clientInfo": identity.info,\n        }', "}"),
            ("the method is not mirrored", 'headers["Mcp-Method"] = method', "pass"),
            (
                "the name is not mirrored",
                'headers["Mcp-Name"] = encoded(message["params"][named_by])',
                "pass",
            ),
            (
                "capabilities are not told",
                '_PREFIX + "clientCapabilities": identity.capabilities,',
                "",
            ),
            (
                "parameters are not mirrored",
                'headers.update(self.header_parameters.for_call(message["params"]))',
                "pass",
            ),
            ("the log level is lost", 'meta.setdefault(_PREFIX + "logLevel", log_level)', "pass"),
        ],
        "protocol.negotiation": [
            (
                "an empty state is no state",
                'return result.get("requestState") is not None',
                'return bool(result.get("requestState"))',
            ),
            (
                "a cancellation names nothing",
                '{"requestId": request_id, "reason": reason}',
                '{"id": request_id, "reason": reason}',
            ),
            (
                "the state is not sent back",
                'retry["requestState"] = result["requestState"]',
                "pass",
            ),
            ("the input is not sent", 'retry["inputResponses"] = responses', "pass"),
        ],
        "client.connection.session": [
            (
                "progress tokens are all the same",
                '"progressToken": pending.id}',
                '"progressToken": 1}',
            ),
            ("no progress is asked for", 'params = {**(params or {}), "_meta": meta}', "pass"),
            ("the server cannot cancel", "self._answering.cancel(params)", "pass"),
        ],
        "client.answers.inbound_requests": [
            (
                "pings are not answered",
                "self._start(request_id, self._deliver(messages.response(request_id, {})))",
                "pass",
            ),
            (
                "what was cancelled is answered",
                "        if self._is_wanted(request_id):\n            await self._deliver(answer)",
                "        await self._deliver(answer)",
            ),
        ],
        "framing.http1": [
            (
                "a connection that the server closes is used again",
                '"close" not in options and (version != "1.0" or "keep-alive" in options)',
                "True",
            )
        ],
        "net.cookies": [
            ("no cookie is sent back", "if origin == url.origin and name not in named", "if False")
        ],
        "protocol.caching": [
            ("a lifetime is in seconds", "* 1000) / 1000", "* 1000)"),
            (
                "a change leaves what is fresh",
                '"notifications/resources/list_changed": ("resources/list", "resources/templates/list"),',
                "",
            ),
        ],
        "client.answers.answerers": [
            ("a refused sampling has another code", "_REJECTED = -1", "_REJECTED = -32603"),
            ("a dismissed form is declined", 'return "cancel", {}', 'return "decline", {}'),
            (
                "a declined form is dismissed",
                '("accept" if answer else "decline"), {}',
                '("accept" if answer else "cancel"), {}',
            ),
            ("a refusal is an acceptance", '("accept" if answer else "decline")', '"accept"'),
            (
                "defaults are left out",
                "filled_in = elicitation.with_defaults(request, given)",
                "filled_in = given",
            ),
        ],
        "transports.event_stream": [
            (
                "events of any type are messages",
                'elif event.data and event.event == "message" and not',
                "elif event.data and not",
            ),
            (
                "retry: is not obeyed",
                "return max(self._retry / 1000, _MIN_DELAY)",
                "return _MIN_DELAY",
            ),
            ("events come twice after a resumption", "not self._is_replay(event.id)", "True"),
        ],
        "transports.legacy_sse": [
            ("another origin's endpoint is used", "if url.origin == base.origin:", "if True:")
        ],
        "transports.http_messages": [
            (
                "no session ever expires",
                "is_expired = in_session and (status == 404 or says_so)",
                "is_expired = False",
            )
        ],
        "transports.connected": [("lines are not ended", 'message + b"\\n"', "message")],
        "jsonrpc.messages": [
            (
                "what was not declared has another code",
                "return ErrorCode.INVALID_PARAMS, error.reason, None",
                "return ErrorCode.INTERNAL_ERROR, error.reason, None",
            ),
        ],
        "jsonrpc.correlator": [("progress postpones nothing", "if pending.idle:", "if False:")],
        "client.connection.connection": [
            (
                "a list that is begun anew has all of both",
                "items, params, seen, is_first_try = [], {}, set(), False",
                "params, seen, is_first_try = {}, set(), False",
            ),
            ("every page is the first", 'params = {"cursor": cursor}', "params = {}"),
        ],
        "auth.obtaining": [
            (
                "the challenge is the verifier",
                'return base64url(hashlib.sha256(verifier.encode("ascii")).digest())',
                "return verifier",
            ),
            ("the verifier is not sent", '("code_verifier", pending.verifier),', ""),
            ("any state will do", 'same_state(str(record.get("state")), state)', "True"),
            ("any issuer may answer", "elif callback.iss != pending.client.issuer:", "elif False:"),
            ("no issuer needs to answer", "if pending.iss_expected:", "if False:"),
            (
                "the resource is not named",
                "    if pending.resource is not None:\n        parameters",
                "    if False:\n        parameters",
            ),
            (
                "a step up loses scopes",
                "named = union(held, challenge.scopes",
                "named = union(challenge.scopes",
            ),
        ],
        "auth.discovery": [
            (
                "metadata of any resource will do",
                "ours = named == self.trust.resource or speaks_for(named, url, self.server_url)",
                "ours = True",
            ),
            ("metadata of any issuer will do", "if server.issuer not in spellings:", "if False:"),
            (
                "the root is asked first",
                "return [root + path, root] if path",
                "return [root, root + path] if path",
            ),
        ],
        "auth.tokens": [
            (
                "a refresh token is forgotten",
                "refresh_token = previous.refresh_token if previous else None",
                "refresh_token = None",
            )
        ],
        "framing.websocket": [
            (
                "pings of the connection are not answered",
                "events.append(Write(self._frame(frames.FINAL | frames.PONG, payload)))",
                "pass",
            ),
            ("no subprotocol is offered", '("Sec-WebSocket-Protocol", _SUBPROTOCOL),', ""),
        ],
        "client.connection.call_recovery": [
            (
                "a busy server is asked again at once",
                "            await asyncio.sleep(delay)\n            try:",
                "            await asyncio.sleep(0)\n            try:",
            ),
        ],
        "client.requests": [
            (
                "the metadata of the caller is lost",
                '    return {**(params or {}), "_meta": dict(meta)}',
                "    return {**(params or {})}",
            ),
        ],
        "framing.sse": [
            (
                "the type of an event lasts",
                '        self._event = ""\n        self._dropping = False\n',
                "        self._dropping = False\n",
            ),
        ],
        "net.http": [
            (
                "a redirect leads anywhere",
                "return url if url.origin == self._request.url.origin else None",
                "return url",
            ),
        ],
        "protocol.header_parameters": [
            (
                "what looks encoded is sent as it is",
                'value.startswith("=?base64?") and value.endswith("?=")',
                "False",
            ),
        ],
    }
)

OTHERS = _faults(
    {
        "framing.websocket": [
            ("masks are constant", "payload, self._random_bytes(4))", "payload, bytes(4))"),
            (
                "a reason may be too long for its frame",
                "violation.reason[:_MAX_CLOSE_REASON]",
                "violation.reason",
            ),
        ],
        "framing.ndjson": [
            (
                "a framer is quadratic",
                "            self._held += piece\n            return",
                "            self._held = self._held + piece\n            return",
            ),
            ("a long line is delivered", "if self.unfinished <= self._limit:", "if True:"),
        ],
        "framing.sse": [
            ("a decoder is quadratic", "self._data += value", "self._data = self._data + value")
        ],
        "framing.content_coding": [
            (
                "any coding is taken for gzip",
                "if names and self._coding not in _CODINGS:",
                "if False:",
            )
        ],
        "jsonrpc.messages": [
            (
                "a string is no id",
                "return int(request_id) if re.fullmatch(_NUMBER, request_id) else request_id",
                "return request_id",
            )
        ],
        "protocol.eras": [
            (
                "initialize may be cancelled",
                "initializes or asks_for_task else",
                "asks_for_task else",
            )
        ],
        "jsonrpc.correlator": [
            (
                "pauses do not count",
                "        if self._pauses:\n            return []",
                "        if False:\n            return []",
            ),
            (
                "an answer counts twice",
                "if pending is None or pending.waiter.done():\n            stray",
                "if pending is None:\n            stray",
            ),
        ],
        "auth.obtaining": [
            (
                "randomness is short",
                "state=base64url((yield from effects.RandomBytes(32)))",
                "state=base64url((yield from effects.RandomBytes(16)))",
            ),
            (
                "a begun login never ends",
                'if (number_in(each.get("created_at")) or 0.0) > oldest',
                "if True",
            ),
            (
                "a callback may name things twice",
                "len(parameters.get(name, ())) > 1 for name in names",
                "False for name in names",
            ),
            (
                "no scope is asked for as an empty one",
                "    if pending.requested_scopes:",
                "    if True:",
            ),
        ],
        "net.login.authentication": [
            ("secrets are zeros", "os.urandom(effect.count)", "bytes(effect.count)"),
            (
                "closing renews a login",
                "self.runner.begin(self.flows.headers(url), passive=self.passive)",
                "self.runner.begin(self.flows.headers(url))",
            ),
        ],
        "auth.clients": [
            (
                "assertions can be replayed",
                "base64url((yield from effects.RandomBytes(16))),\n    }",
                '"1",\n    }',
            ),
            (
                "assertions never expire",
                "issued_at + _ASSERTION_LIFETIME",
                "issued_at + 10 * 365 * 86400",
            ),
            (
                "who has no metadata document shows none",
                "if options.client_metadata_url is not None and server",
                "if server",
            ),
        ],
        "auth.signing": [
            (
                "a proof is for any token",
                "if access_token is not None:\n            claims",
                "if False:\n            claims",
            )
        ],
        "auth.tokens": [
            (
                "tokens are used to their last second",
                "now + lifetime - min(EARLY_EXPIRY, lifetime / 2)",
                "now + lifetime",
            ),
            (
                "a broken token is used",
                "if not isinstance(access_token, str) or not _TOKEN.fullmatch(access_token):\n        raise",
                "if not isinstance(access_token, str):\n        raise",
            ),
            (
                "another scheme's words count",
                'if scheme.lower() in ("bearer", "dpop"):',
                "if True:",
            ),
        ],
        "auth.url_guard": [
            ("plain http is allowed", "if not policy.allow_insecure_http:", "if False:"),
            ("a URL may hold credentials", 'if "@" in parts.netloc:', "if False:"),
            (
                "an address of this machine is allowed",
                "    if reason is not None:\n        found = ",
                "    if False:\n        found = ",
            ),
            (
                "metadata may name any host",
                'if host not in {allowed.lower().rstrip(".") for allowed in policy.allowed_hosts}:',
                "if False:",
            ),
            (
                "a host may end as the issuer's does",
                "or host == host_of(issuer_url):",
                "or host.endswith(host_of(issuer_url)):",
            ),
        ],
        "protocol.caching": [
            ("an answer is kept for ever", "if now < expires:", "if True:"),
            (
                "one user sees another's answers",
                "place = (key, _ANYONE if public else context)",
                "place = (key, _ANYONE)",
            ),
            ("a changed list stays", "self.drop(*_STALE_AFTER[method])", "pass"),
        ],
        "protocol.header_parameters": [
            (
                "header values are not encoded",
                "    if is_plain:\n        return value",
                "    if True:\n        return value",
            )
        ],
        "protocol.negotiation": [
            (
                "the first retry waits",
                "if round_number > 1 else 0.0",
                "if round_number > 0 else 0.0",
            )
        ],
        "client.connection.session": [
            (
                "closing does not wait for what is leaving",
                "await self._departures.wait(_DEPARTURE_TIMEOUT)\n        self._departures.cancel()",
                "self._departures.cancel()",
            ),
            ("calls of a lost session hang", "self.correlator.fail_all(error.again)", "pass"),
            (
                "a failure is never told",
                '        _logger.warning("%s: %s", self.transport.description, error)\n        self._events.error(error)',
                '        _logger.warning("%s: %s", self.transport.description, error)',
            ),
            (
                "a failure of a call is told twice",
                "            self.correlator.fail(request_id, error)\n\n    def _report",
                "            self.correlator.fail(request_id, error)\n            self._report(error)\n\n    def _report",
            ),
            (
                "a cancelled call says it timed out",
                "timed_out = isinstance(reason, CallTimeout)",
                "timed_out = True",
            ),
            (
                "a callback holds up closing",
                "await self.tasks.wait(min(1.0, max(deadline - self.loop.time(), 0.0)))",
                "await self.tasks.wait(100)",
            ),
        ],
        "transports.streamable_http": [
            (
                "an end of the session leaves calls waiting",
                "if post.session_id == session_id and post.needs_its_session:",
                "if False:",
            ),
            (
                "an answer settles questions of other sessions",
                "if post.session_id == session_id and post.stream is not None:",
                "if post.stream is not None:",
            ),
        ],
        "transports.http_transport": [
            (
                "300 is a success",
                "200 <= head.status < 300:\n            self._refusal = Refusal(head)\n            return",
                "200 <= head.status <= 300:\n            self._refusal = Refusal(head)\n            return",
            ),
            (
                "a server that answers nothing is waited for",
                "receiver.request_failed(request_id, self.lost())",
                "pass",
            ),
        ],
        "transports.event_stream": [
            (
                "repeats are looked for before a resumption",
                "self._replaying = False\n        self._delays",
                "self._replaying = True\n        self._delays",
            ),
            (
                "only two events are recognised when they come again",
                "_REMEMBERED = 256",
                "_REMEMBERED = 2",
            ),
        ],
        "transports.connected": [
            ("a withdrawn message is sent", "                del self._waiting[position]\n", "")
        ],
        "client.answers.inbound_requests": [
            (
                "a user is asked twice",
                "if request_id in self._running:  # a user is asked once",
                "if False:",
            ),
            (
                "a user's time counts",
                "self._clocks.held() if method in PAUSES_TIMEOUTS else nullcontext()",
                "nullcontext()",
            ),
        ],
        "client.answers.answerers": [
            ("a root may climb", 'if ".." in unquote(parts.path)', 'if ".." in parts.path'),
            (
                "what a visit set off goes on after the end",
                "        self._tasks.cancel()",
                "        pass",
            ),
        ],
        "manager.naming": [
            (
                "names in use change hands",
                "is_kept = self._is_settled or name in self._settled",
                "is_kept = False",
            ),
            ("a tool is named as another server's", "return claimant != server", "return False"),
        ],
        "client.requests": [
            (
                "raw requests go past the hooks",
                "if (around or self._is_wrapped) and method in SUBJECTS:",
                "if around and method in SUBJECTS:",
            ),
            (
                "calls made together miss the hooks given to them",
                'frozenset({"timeout", "max_timeout", ',
                'frozenset({"around", "timeout", "max_timeout", ',
            ),
        ],
        "client.connection.call_recovery": [
            ("filters and pins are not asked", "if refused is not None:", "if False:"),
        ],
        "client.connection.cache": [
            (
                "a private result is kept where the token may change",
                "callable(connection.options.headers) or connection.route.authorizer is not None",
                "callable(connection.options.headers)",
            ),
        ],
        "auth.grants": [
            (
                "a login is used for other scopes",
                "if scopes is not None and {*asked, OFFLINE_ACCESS} != {*scopes, OFFLINE_ACCESS}:",
                "if False:",
            ),
            (
                "an error may repeat a client assertion",
                '"client_assertion", "client_secret", "code"',
                '"client_secret", "code"',
            ),
            (
                "an error may repeat a secret that was sent as Basic",
                "            secrets.append(self.client.client_secret)",
                "            pass",
            ),
        ],
        "errors.root": [
            ("a captive portal costs the login", "return self.status in (400, 401)", "return True")
        ],
        "net.files": [
            (
                "unfinished copies of secrets stay",
                "                unfinished.unlink()",
                "                pass",
            )
        ],
        "sync.handlers": [
            (
                "a handler that exits ends the loop of all clients",
                'raise RuntimeError(f"a handler raised {type(error).__name__}") from None',
                "raise",
            )
        ],
        "net.http": [
            (
                "a repetition goes over another stale connection",
                "connection = None if fresh else self._client.idle_connection(request.url)",
                "connection = self._client.idle_connection(request.url)",
            ),
            (
                "a proof is sent twice",
                "self._send(await renewal, fresh=fresh)",
                "await renewal\n            self._send(self._request, fresh=fresh)",
            ),
        ],
        "client.connection.opening": [
            (
                "another session is judged less strictly than the first",
                "version=version, strict=plan.strict",
                "version=version",
            ),
            (
                "a slow answer over HTTP is taken for none",
                "answers_all=transport.carries_headers,",
                "answers_all=False,",
            ),
            (
                "a server that lives is started again",
                "if not self._switched and (not has_ended or is_other):",
                "if False:",
            ),
            (
                "a server is started for who has closed",
                "if self._session.state is State.CLOSED:",
                "if False:",
            ),
            (
                "what is half open stays so",
                "            if not task.done():\n                await cancel_all",
                "            if False:\n                await cancel_all",
            ),
            ("a probe takes all the time there is", "else min(timeout, share)", "else timeout"),
        ],
        "client.connection.connection": [
            (
                "pings of an earlier session go on",
                "        cancel(self._keep_alive)\n        if self.options.keep_alive",
                "        if self.options.keep_alive",
            )
        ],
        "net.dialing": [
            (
                "a proxy is shown the client certificate",
                "self._tls.for_server if peer is url else self._tls.for_proxy",
                "self._tls.for_server",
            )
        ],
        "transports.stdio": [
            ("a server gets all our variables", "inherit_env=inherit_env,", 'inherit_env="all",')
        ],
        "transports.http_messages": [
            (
                "a header of the caller's replaces the login",
                "merged(merged(headers, provided), self._credentials)",
                "merged(merged(headers, self._credentials), provided)",
            )
        ],
        "net.process.stderr": [
            ("stderr is kept without end", "if len(self._kept) > 2 * _KEPT:", "if False:")
        ],
        "inspector.journal": [
            (
                "an answer belongs to a request of an earlier connection",
                "            self.exchanges.clear()",
                "            pass",
            )
        ],
        "auth.flow": [
            (
                "a token that was refused stays",
                "        yield from self._forget()\n        yield from self._obtain_from",
                "        yield from self._obtain_from",
            ),
            (
                "who logs out is still logged in",
                "        self._adopt(None)\n        yield from unbind",
                "        yield from unbind",
            ),
            (
                "a login is finished with a secret that is another server's by now",
                "        yield from check_binding(self.options, self._name, issuer)\n",
                "",
            ),
            (
                "a grant is widened while another task renews it",
                "made.append((yield from effects.Exclusive(owner.key, flow)))",
                "made.append((yield from flow))",
            ),
            (
                "a refresh token is lost with whoever waited for it",
                "return (yield from effects.Shielded(self._refresh(grant)))",
                "return (yield from self._refresh(grant))",
            ),
        ],
        "recording.redaction": [
            (
                "a token of words is taken for a scope",
                'if scheme.lower() == "basic" and _SCOPE',
                "if _SCOPE",
            )
        ],
        "net.login.storage": [
            (
                "credentials are not written when nobody waits",
                "await asyncio.shield(self._save(key, None if record is None else dict(record)))",
                "await self._save(key, None if record is None else dict(record))",
            )
        ],
        "net.guarded_fetch": [
            (
                "other servers are reached as the client's own",
                "self._to_server if is_own else self._to_others,",
                "self._to_server,",
            )
        ],
        "inspector.routes": [
            (
                "the token is compared byte by byte",
                'hmac.compare_digest(given, b"Bearer " + self._token)',
                'given == b"Bearer " + self._token',
            )
        ],
        "manager.pins": [("a hint may change", ', "annotations")', ")")],
        "manager.fleet": [
            (
                "no policy judges what was loaded without it",
                "servers = servers.servers  #",
                "return dict(servers.servers)  #",
            )
        ],
        "net.futures": [
            (
                "who stops waiting for an event stops all",
                "await asyncio.wait({self._future}, timeout=seconds)",
                "await asyncio.wait_for(self._future, seconds)",
            )
        ],
        "cli.running": [
            (
                "a server's words rewrite the screen",
                "{style.bold('error:')} {escape(text)}",
                "{style.bold('error:')} {text}",
            )
        ],
        "sync.loop_thread": [
            (
                "a task that leaves takes everybody along",
                "        while not self._is_ending:",
                "        if True:",
            )
        ],
        "transports.replaying": [
            (
                "one client hears what is for another",
                "        copied._parts, copied._asking, copied._held = {}, {}, []",
                "        pass",
            )
        ],
        "client.connection.reconnection": [
            (
                "a 401 in mid-session drops the tools",
                "if after is _S.CLOSED or after in _FORBIDDEN:",
                "if after in (_S.CLOSED, _S.NEEDS_AUTH, *_FORBIDDEN):",
            ),
            (
                "a first connection that fails leaves the remembered tools as good as new",
                "(Action.CLOSE, Action.KEEP_TOOLS, *is_paused)",
                "(Action.CLOSE, *is_paused)",
            ),
            (
                "one failure cannot be enough",
                "if self.terminal_errors < 1:",
                "if self.terminal_errors <= 1:",
            ),
        ],
        "adapters.openai_chat": [
            (
                "five stop sequences go to an API that takes four",
                "sampling.stop_sequences[:4]",
                "sampling.stop_sequences[:5]",
            ),
            (
                "images of more bytes than the API takes are sent",
                '{"image": 20_000_000}',
                '{"image": 50_000_000}',
            ),
        ],
        "adapters.schemas.strict": [
            (
                "an optional enum that names no null cannot be left out",
                'if "enum" in result and None not in result["enum"]:',
                'if "enum" in result and "null" not in kinds:',
            ),
            (
                "a null that an enum takes is removed",
                'return None in schema.get("enum", [schema.get("const", "")])',
                "return False",
            ),
        ],
        "cli.features": [
            (
                "a failed tool with -o does not say why",
                "if output is not None and not result.is_error:",
                "if output is not None:",
            )
        ],
        "protocol.types": [
            (
                "a read-only tool counts as destructive",
                "return not self.read_only and (self.annotations",
                "return (self.annotations",
            ),
            (
                "a read-only tool may not be called twice",
                "return self.read_only or (self.annotations",
                "return (self.annotations",
            ),
            (
                "a suggestion that says nothing has more to come",
                'Field("hasMore", (bool,), False)',
                'Field("hasMore", (bool,), True)',
            ),
            (
                "the result of a tool, in sampling, names no call",
                '"toolUseId", _STRING',
                '"tool_use_id", _STRING',
            ),
            (
                "what stands beside a wrapped result is lost",
                'list(structured) != ["result"]',
                '"result" not in structured',
            ),
        ],
        "protocol.negotiate": [
            (
                "a server of the other era at a remembered address is a failure",
                "        yield from self._restart(refusal)\n        try:",
                "        raise refusal\n        try:",
            )
        ],
        "adapters.google": [
            (
                "videos do not reach a model that takes them",
                '*("video/mp4", "video/mpeg", "video/webm", "video/quicktime"),',
                '*("video/mpeg", "video/webm", "video/quicktime"),',
            )
        ],
    }
)
