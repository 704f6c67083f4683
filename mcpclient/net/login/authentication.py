"""The authorizer of a value of ``auth=``, functions to log in and out by hand, and their runner.

The runner performs the effects that the flows in `auth` yield. An exclusive flow, such as a login,
runs in a task of its own, so a cancelled call stops only its own waiting. A token request that was
sent is finished and its response stored in any case.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Callable, TypeVar, cast, get_args

from ...auth import effects
from ...auth.effects import AuthProvider, Callback, CredentialStore, Flow, Response
from ...auth.flow import Authorization, AuthorizedRequest
from ...auth.grants import Grant, account_url, revoke
from ...auth.obtaining import parse_callback
from ...auth.options import ApiKey, Authentication, BearerToken, OAuth, OAuthOptions
from ...auth.tokens import static_header
from ...display import shown_url
from ...errors import AuthError, ConnectionLost, LossKind, McpError, UsageError
from ...errors.authorization import AuthorizationRequired
from ...framing.http1 import ResponseHead
from ...framing.logs import logger_for
from ...framing.uri import http_url, parse_url
from ...protocol.negotiation import LATEST_HANDSHAKE
from ..clocks import PausableClocks, seconds_since_epoch
from ..futures import BackgroundTasks, run_in, settled
from ..guarded_fetch import GuardedFetcher
from ..network_options import NetworkOptions
from ..recorder import Recorder, TraceTarget
from ..shielded import run_shielded
from .logins import BrowserLogin
from .static import StaticAuthorizer, failed, forget_variables
from .storage import FileStore, NeedsAuthMemory, credentials_path, memory_of


def credentials_for(
    auth: Authentication, server_url: str, network: NetworkOptions
) -> Mapping[str, str] | StaticAuthorizer | OAuthAuthorizer:
    """Return the fixed headers, or the authorizer, of requests to an http or https URL."""
    if not isinstance(auth, get_args(Authentication)):
        # Its repr may show a secret, so only its type is named.
        given = f"the class {auth.__name__}" if isinstance(auth, type) else type(auth).__name__
        raise UsageError(f"auth is a token as a string, or an object such as OAuth(), not {given}")
    if isinstance(auth, (BearerToken, ApiKey)):
        source = auth.token if isinstance(auth, BearerToken) else auth.key
        if not isinstance(source, str):
            return StaticAuthorizer(server_url, auth, source)
        return static_header(auth, source)
    return authorizer_for(auth, server_url, network)


def authorizer_for(
    auth: OAuthOptions, server_url: str, network: NetworkOptions | None = None
) -> OAuthAuthorizer:
    """Return the authorizer of requests to ``server_url``."""
    authorization = Authorization(server_url, auth, protocol_version=LATEST_HANDSHAKE)
    fetcher = GuardedFetcher(network or _network(), ssl_context=auth.ssl_context)
    provider = _provider_of(auth) if isinstance(auth, OAuth) else auth.store or default_store()
    return OAuthAuthorizer(authorization, provider, fetcher)


async def log_in(
    server_url: str, auth: OAuth | None = None, *, trace: TraceTarget | None = None
) -> None:
    """Lead the user through a login now, even if there was one before.

    ``trace``: the target of a transcript, as of `Client`. Raises as a call that needs a login does.
    """
    url = parse_url(server_url)
    recorder = None if trace is None else Recorder(trace)
    if recorder is not None:
        recorder.begin("http", url.shown)
    authorizer = authorizer_for(auth or OAuth(), str(url), _network(recorder))
    try:
        await authorizer.log_in()
    finally:
        await authorizer.close()


async def log_out(server_url: str, auth: OAuthOptions | None = None) -> None:
    """Forget the login to a server, and revoke it there where the server offers that (RFC 7009).

    ``auth``: the options it was made with. An authorization server that was trusted first for them
    (``trust_first_issuer``) is forgotten as well. Does nothing without a login. Does not raise when
    the server cannot be reached, or takes more than 5 s to revoke it.
    """
    await authorizer_for(auth or OAuth(), str(parse_url(server_url))).log_out()


async def finish_auth(
    server_url: str,
    code: str,
    state: str | None = None,
    *,
    iss: str | None = None,
    auth: OAuth | None = None,
) -> None:
    """Finish a login after `AuthorizationRequired`; afterwards connect again.

    ``code``, ``state`` and ``iss`` are parameters of the address that the browser was sent back to,
    or ``code`` alone is that whole address. ``auth``: the same options as before, in this process
    or another one with the same store.

    Raises UsageError for an address without a code, AuthError when ``state`` belongs to no login
    begun here, AuthorizationDenied, TokenRequestFailed.
    """
    try:
        callback = parse_callback(code) if state is None else Callback(code, state, iss)
    except UsageError as error:
        forget_variables(error)
        raise
    finally:
        del code, state, iss  # keeps them out of tracebacks: see forget_variables
    authorizer = authorizer_for(auth or OAuth(), str(parse_url(server_url)))
    await authorizer.finish(callback)


async def awaits_login(server_url: str, auth: OAuth) -> bool:
    """Return whether a server needed a login less than 15 minutes ago, and got none."""
    account = _account_url(server_url, auth)
    return bool(await memory_of(_provider_of(auth)).remembered([account]))


async def expect_login(server_url: str, auth: OAuth) -> None:
    """Forget that a server needed a login, because the user wants to try again."""
    memory = memory_of(_provider_of(auth))
    await memory.clear(_account_url(server_url, auth))


def _account_url(server_url: str, auth: OAuth) -> str:
    return account_url(http_url(parse_url(server_url)), auth.account)


def _network(recorder: Recorder | None = None) -> NetworkOptions:
    return NetworkOptions(recorder=recorder).with_proxy(None, os.environ)


def _provider_of(auth: OAuth) -> AuthProvider:
    return auth.provider or _login_at(credentials_path(os.environ))[1]


def default_store() -> FileStore:
    """Return the store in the file of this user's credentials."""
    return _login_at(credentials_path(os.environ))[0]


# One object for each file, so that logins to several servers happen one at a time.
@lru_cache(maxsize=16)
def _login_at(path: Path) -> tuple[FileStore, BrowserLogin]:
    store = FileStore(path)
    return store, BrowserLogin(store)


# Running flows


T = TypeVar("T")

NOTICE_AFTER = 2.0
"""Seconds after which a warning names the reason of a wait."""

REVOCATION_TIMEOUT = 5.0
"""Seconds for a server to revoke a login."""

Performers = Mapping[type, Callable[[Any], object]]
"""A function for each kind of effect, plain or async."""

_logger = logger_for("mcpclient.auth")


class FlowRunner:
    """A runner of flows. ``clocks``: the deadlines to pause while the user is asked, if any.

    ``provider`` may be a plain store for flows without a user.
    """

    def __init__(
        self, server_url: str, provider: AuthProvider | CredentialStore, fetcher: GuardedFetcher
    ) -> None:
        self.clocks: PausableClocks | None = None
        self.needs_auth: NeedsAuthMemory = memory_of(provider)
        self._server_url = server_url
        self._shown = shown_url(server_url)
        self._provider = provider
        self._fetcher = fetcher
        # The last waiter for a login may have been cancelled, so that the error would be lost.
        self._tasks = BackgroundTasks(
            partial(_logger.debug, "authorization of %s: %s", self._shown)
        )
        self._waits = 0
        self._performers: Performers = {
            effects.Ask: lambda effect: effect.function(),
            effects.Authorize: self._authorize,
            effects.Exclusive: self._exclusive,
            effects.Fetch: self._fetcher.fetch,
            effects.Load: lambda effect: self._provider.load(effect.key),
            effects.Now: lambda _: seconds_since_epoch(),
            effects.OpenRedirect: lambda effect: self._user.open_redirect(
                effect.configured, effect.registered
            ),
            effects.RandomBytes: lambda effect: os.urandom(effect.count),
            effects.Save: lambda effect: self._provider.save(effect.key, effect.record),
            effects.ShowDeviceCode: lambda effect: self._user.show_device_code(effect),
            effects.Shielded: self._shielded,
            effects.Wait: self._wait,
        }
        # A flow that holds a lock has a task of its own already.
        self._performers_under_lock = {**self._performers, effects.Exclusive: self._run_alone}

    def begin(self, flow: Flow[T], *, passive: bool = False) -> T | Awaitable[T]:
        """Return the result of a flow, or its `run` if it asks for more than the time.

        Most requests do not, and a task for each would take a fifth of the time of a call.
        """
        try:
            effect = next(flow)
            while isinstance(effect, effects.Now):
                effect = flow.send(seconds_since_epoch())
        except StopIteration as stop:
            return cast(T, stop.value)
        except Exception as error:
            return failed(error)
        return self.run(flow, passive=passive, effect=effect)

    async def run(self, flow: Flow[T], *, passive: bool = False, effect: object = None) -> T:
        """Run a flow to its end and return its result, or raise its error.

        A ``passive`` flow may use stored credentials, but not obtain new ones. ``effect``: the
        first to perform, of a flow that has begun. Cancelling is safe: an exclusive flow continues,
        for other calls that wait for it and for later ones.
        """
        performers = (
            {**self._performers, effects.Exclusive: _refuse} if passive else self._performers
        )
        try:
            return await self._run(flow, performers, effect)
        except McpError as error:
            forget_variables(error)
            raise

    async def _run(self, flow: Flow[T], performers: Performers, effect: object = None) -> T:
        try:
            effect = effect or next(flow)
            while True:
                try:
                    answer = await self._perform(effect, performers)
                except McpError as error:
                    effect = flow.throw(error)
                else:
                    effect = flow.send(answer)
        except StopIteration as stop:
            return cast(T, stop.value)
        finally:
            flow.close()

    async def _perform(self, effect: object, performers: Performers) -> object:
        try:
            return await settled(performers[type(effect)](effect))
        except McpError:
            raise
        except Exception as error:
            # The message may contain secrets, so it is not repeated; the error is the cause.
            reason = f"{type(effect).__name__} failed with {type(error).__name__}"
            raise AuthError(f"authorization of {self._shown}: {reason}") from error

    async def _exclusive(self, effect: effects.Exclusive[object]) -> object:
        task = self._tasks.start(self._run_alone(effect))
        # Cancelling this wait leaves the task alone. `asyncio.shield` does so too, but since Python
        # 3.14 it reports the error of a task whose last waiter was cancelled as unhandled.
        await asyncio.wait({task})
        if task.cancelled():  # by `close`, or by code that the provider awaited
            raise AuthError(f"the login to {self._shown} was given up")
        return task.result()

    async def _run_alone(self, effect: effects.Exclusive[object]) -> object:
        async with AsyncExitStack() as stack:
            # The holder of the lock may be waiting for a human, but that is not this caller's user,
            # so this call's deadlines keep running.
            with self._waiting_for(f"another login to {self._shown}, here or in another process"):
                await stack.enter_async_context(self._provider.lock(effect.name))
            return await self._run(effect.flow, self._performers_under_lock)

    async def _shielded(self, effect: effects.Shielded[object]) -> object:
        home, provider = asyncio.get_running_loop(), self._provider
        # A host's own store may know no other event loop than the one it was made in.
        performers: Performers = {
            **self._performers,
            effects.Load: lambda wanted: run_in_owner_loop(
                home, partial(provider.load, wanted.key)
            ),
            effects.Save: lambda given: run_in_owner_loop(
                home, partial(provider.save, given.key, given.record)
            ),
        }
        return await run_shielded(self._run(effect.flow, performers))

    async def _authorize(self, request: effects.Authorize) -> Callback:
        remembered = await self.needs_auth.remembered([self._server_url])
        callback = None
        if not remembered:
            with self._held_deadlines():
                callback = await self._user.authorize(request)
        if callback is None or callback.error is not None:
            await self.needs_auth.mark(self._server_url)
        if callback is None:
            raise AuthorizationRequired(request.url)
        return callback

    @property
    def _user(self) -> AuthProvider:
        if not hasattr(self._provider, "authorize"):
            raise AuthError("a login needs an AuthProvider; a store alone cannot reach the user")
        return cast(AuthProvider, self._provider)

    async def _wait(self, effect: effects.Wait) -> None:
        with self._held_deadlines():  # for a user who enters a code somewhere
            await asyncio.sleep(effect.seconds)

    @contextmanager
    def _waiting_for(self, reason: str) -> Iterator[None]:
        loop, clocks = asyncio.get_running_loop(), self.clocks
        notice = loop.call_later(NOTICE_AFTER, _logger.warning, "waiting for %s", reason)
        self._waits += 1
        if clocks is not None:
            clocks.wait_reason = reason
        try:
            yield
        finally:
            notice.cancel()
            self._waits -= 1
            if clocks is not None and not self._waits:
                clocks.wait_reason = None

    def _held_deadlines(self) -> AbstractContextManager[None]:
        return nullcontext() if self.clocks is None else self.clocks.held()

    async def close(self) -> None:
        """Give up every login in progress; wait at most 5 s for a token request. Idempotent."""
        self.abort()
        await self._tasks.wait()

    def abort(self) -> None:
        """Give up every login in progress, without waiting."""
        self._tasks.cancel()


async def run_in_owner_loop(
    home: asyncio.AbstractEventLoop, function: Callable[[], Awaitable[T]]
) -> T:
    """Await ``function()`` in the event loop ``home``, or here when that one has ended.

    For functions of the caller, whose objects may be bound to the caller's loop. ``function`` is
    called twice when ``home`` ends in between.
    """

    async def awaited() -> T:
        return await function()

    try:
        return await run_in(home, awaited)
    except ConnectionLost as error:
        if error.kind is not LossKind.LOOP_ENDED:
            raise
    return await function()


class OAuthAuthorizer(FlowRunner):
    """The authorizer of one server by OAuth; a `net.exchange.Authorizer`."""

    def __init__(
        self,
        authorization: Authorization,
        provider: AuthProvider | CredentialStore,
        fetcher: GuardedFetcher,
    ) -> None:
        super().__init__(authorization.account_url, provider, fetcher)
        self._authorization = authorization

    def request(self, method: str, url: str, *, passive: bool = False) -> _Request:
        return _Request(self._authorization.request(method, url), self, passive)

    async def expect_login(self) -> None:
        """Forget that a login was needed, because the user wants to try again."""
        await self.needs_auth.clear(self._server_url)

    async def log_in(self) -> None:
        """Get a new grant, even if there is one."""
        refusal = await self.run(self._authorization.probe())
        await self.expect_login()
        await self.run(self._authorization.log_in(refusal))

    async def log_out(self) -> None:
        """Forget the grant and how it was obtained; revoke it where the server offers that."""
        await self.expect_login()
        grant = await self.run(self._authorization.log_out())
        if grant is None:
            return
        try:
            await asyncio.wait_for(
                self.run(revoke(grant, self._authorization.policy)), REVOCATION_TIMEOUT
            )
        except (McpError, asyncio.TimeoutError) as error:
            # It is forgotten here all the same, and expires on the server.
            _logger.info("the login to %s could not be revoked: %s", self._shown, error)

    async def finish(self, callback: Callback) -> None:
        """Continue a login that was begun earlier."""
        await self.run(self._authorization.finish(callback))
        await self.expect_login()

    async def stored_grant(self) -> Grant | None:
        return await self.run(self._authorization.stored_grant())


@dataclass(repr=False, eq=False)
class _Request:
    """The authorization of one request; a `net.exchange.RequestAuthorization`."""

    flows: AuthorizedRequest
    runner: FlowRunner
    passive: bool

    def headers(self, url: str | None = None) -> Mapping[str, str] | Awaitable[Mapping[str, str]]:
        return self.runner.begin(self.flows.headers(url), passive=self.passive)

    def note(self, head: ResponseHead) -> None:
        # Any response may carry the nonce for the next proof (RFC 9449 section 8.2).
        if "dpop-nonce" in head.headers:
            result_at_once(self.flows.recover(_response(head)))

    async def recover(self, head: ResponseHead) -> bool:
        return not self.passive and await self.runner.run(self.flows.recover(_response(head)))


def _refuse(effect: object) -> object:
    raise AuthError("there are no valid credentials")


def result_at_once(flow: Flow[T]) -> T:
    """Return the result of a flow that yields no effects."""
    try:
        effect = next(flow)
    except StopIteration as stop:
        return cast(T, stop.value)
    raise AssertionError(f"the flow must not yield effects, but yields {effect!r}")


def _response(head: ResponseHead) -> Response:
    return Response(head.status, head.headers.pairs(), b"")
