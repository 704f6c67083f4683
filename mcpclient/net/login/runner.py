"""The shell of authorization: it performs what the flows of `mcpclient.auth` ask for.

A flow decides and yields effects; this module sends the requests, opens the browser, keeps the
credentials and tells the time. What only one task may do runs in a task of its own. So a call that
is cancelled gives up its own waiting, and not the login that others wait for. A token request that
is on its way is finished and its answer stored, even when the login itself is given up.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager, nullcontext, suppress
from functools import partial
from types import FrameType
from typing import Any, Callable, TypeVar, cast

from ...auth.effects import (
    Ask,
    Authorize,
    AuthProvider,
    Callback,
    CredentialStore,
    Exclusive,
    Fetch,
    Flow,
    Load,
    Now,
    OpenRedirect,
    RandomBytes,
    Response,
    Save,
    Shielded,
    ShowDeviceCode,
    Wait,
)
from ...auth.flow import Authorization, AuthorizedRequest
from ...auth.grants import Grant
from ...auth.tokens import StaticAuthorization, StaticRequest
from ...display import shown_url
from ...errors import AuthError, AuthorizationRequired, McpError
from ...framing.http1 import ResponseHead
from ...framing.logs import logger_for
from ..clocks import PausableClocks, seconds_since_epoch
from ..futures import BackgroundTasks
from ..guarded_fetch import GuardedFetcher
from ..shielded import run_in_owner_loop, run_shielded
from .needs_auth import NeedsAuthMemory, memory_of

T = TypeVar("T")

NOTICE_AFTER = 2.0
"""Seconds after which is said why a call waits."""

REVOCATION_TIMEOUT = 5.0
"""Seconds that a server has to revoke a login."""

Performers = Mapping[type, Callable[[Any], object]]
"""What performs each kind of effect."""

_logger = logger_for("mcpclient.auth")


class FlowRunner:
    """Performs the effects of flows. ``clocks``: the clocks to stop for a human, if any.

    ``provider`` may be a mere store when no user takes part.
    """

    def __init__(
        self,
        server_url: str,
        provider: AuthProvider | CredentialStore,
        fetcher: GuardedFetcher,
    ) -> None:
        self.clocks: PausableClocks | None = None
        self.needs_auth: NeedsAuthMemory = memory_of(provider)
        self._server_url = server_url
        self._provider = provider
        self._fetcher = fetcher
        self._tasks = BackgroundTasks(self._note_failure)
        self._waits = 0
        self._performers: Performers = {
            Ask: lambda effect: effect.function(),
            Authorize: self._authorize,
            Exclusive: self._exclusive,
            Fetch: self._fetcher.fetch,
            Load: lambda effect: self._provider.load(effect.key),
            Now: lambda _: seconds_since_epoch(),
            OpenRedirect: self._open_redirect,
            RandomBytes: lambda effect: os.urandom(effect.count),
            Save: lambda effect: self._provider.save(effect.key, effect.record),
            ShowDeviceCode: self._show_device_code,
            Shielded: self._shielded,
            Wait: self._wait,
        }
        # A flow that holds a lock has a task of its own already.
        self._performers_under_lock = {**self._performers, Exclusive: self._run_alone}

    async def run(self, flow: Flow[T], *, passive: bool = False) -> T:
        """Run a flow to its end and return its result.

        A ``passive`` flow may use stored credentials, but obtain nothing new. Cancelling is safe:
        what runs under a lock goes on, for others that wait for it and for later. Raises what the
        flow raises.
        """
        performers = {**self._performers, Exclusive: _refuse} if passive else self._performers
        try:
            return await self._run(flow, performers)
        except McpError as error:
            forget_variables(error)
            raise

    async def _run(self, flow: Flow[T], performers: Performers) -> T:
        answer: object = None
        failure: Exception | None = None
        try:
            while True:
                effect = flow.send(answer) if failure is None else flow.throw(failure)
                answer, failure = None, None
                try:
                    answer = await self._perform(effect, performers)
                except McpError as error:
                    failure = error
        except StopIteration as stop:
            return cast(T, stop.value)
        finally:
            flow.close()

    async def _perform(self, effect: object, performers: Performers) -> object:
        try:
            answer = performers[type(effect)](effect)
            return await answer if inspect.isawaitable(answer) else answer
        except McpError:
            raise
        except Exception as error:
            # Its text may be anything, so it is not repeated; it is the cause.
            reason = f"{type(effect).__name__} failed with {type(error).__name__}"
            raise AuthError(f"authorization of {self._shown}: {reason}") from error

    @property
    def _shown(self) -> str:
        return shown_url(self._server_url)

    async def _exclusive(self, effect: Exclusive) -> object:
        task = self._tasks.start(self._run_alone(effect))
        # Cancelling leaves it alone, and, other than with `asyncio.shield` since Python 3.14, a
        # failure that nobody waits for any more is not reported as lost.
        await asyncio.wait({task})
        if task.cancelled():  # by the end of this runner, or by something that the provider asked
            raise AuthError(f"the login to {self._shown} was given up")
        return task.result()

    async def _run_alone(self, effect: Exclusive) -> object:
        async with AsyncExitStack() as stack:
            # Whoever has the lock may be waiting for a human, who is not this caller's: so the
            # caller's limits count.
            with self._waiting_for(f"another login to {self._shown}, here or in another process"):
                await stack.enter_async_context(self._provider.lock(effect.name))
            return await self._run(cast("Flow[object]", effect.flow), self._performers_under_lock)

    async def _shielded(self, effect: Shielded) -> object:
        home, provider = asyncio.get_running_loop(), self._provider
        # A host's own store may know no other event loop than the one it was made in.
        performers: Performers = {
            **self._performers,
            Load: lambda wanted: run_in_owner_loop(home, partial(provider.load, wanted.key)),
            Save: lambda given: run_in_owner_loop(
                home, partial(provider.save, given.key, given.record)
            ),
        }
        return await run_shielded(self._run(cast("Flow[object]", effect.flow), performers))

    def _note_failure(self, error: Exception) -> None:
        # Nobody may be left to hear of it.
        _logger.debug("authorization of %s: %s", self._shown, error)

    async def _authorize(self, request: Authorize) -> Callback:
        remembered = await self.needs_auth.remembered([self._server_url])
        callback = None
        if not remembered:
            with self._holding_deadlines():
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

    async def _open_redirect(self, effect: OpenRedirect) -> str:
        return await self._user.open_redirect(effect.configured, effect.registered)

    async def _show_device_code(self, effect: ShowDeviceCode) -> None:
        await self._user.show_device_code(effect)

    async def _wait(self, effect: Wait) -> None:
        with self._holding_deadlines():  # for a user who enters a code somewhere
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

    def _holding_deadlines(self) -> AbstractContextManager[None]:
        return nullcontext() if self.clocks is None else self.clocks.held()

    async def close(self) -> None:
        """Give up every login in progress; a token request on its way is finished, in 5 s at most.

        Idempotent.
        """
        self.abort()
        await self._tasks.wait()

    def abort(self) -> None:
        """Give up every login in progress, without waiting."""
        self._tasks.cancel()


class OAuthAuthorizer(FlowRunner):
    """Authorizes the requests to one server by OAuth; a `transports.authorized.Authorizer`."""

    def __init__(
        self,
        authorization: Authorization,
        provider: AuthProvider | CredentialStore,
        fetcher: GuardedFetcher,
    ) -> None:
        super().__init__(authorization.account_url, provider, fetcher)
        self._authorization = authorization

    def request(self, method: str, url: str, *, passive: bool = False) -> _Request:
        """The authorization of one request."""
        return _Request(self._authorization.request(method, url), self, passive=passive)

    async def expect_login(self) -> None:
        """Forget that a login was needed and did not take place: the user wants to try again."""
        await self.needs_auth.clear(self._server_url)

    async def log_in(self) -> None:
        """Get a new grant, even where there is one."""
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
            await asyncio.wait_for(self.run(self._authorization.revoke(grant)), REVOCATION_TIMEOUT)
        except (McpError, asyncio.TimeoutError) as error:
            # It is forgotten here all the same, and runs out over there some day.
            _logger.info("the login to %s could not be revoked: %s", self._shown, error)

    async def finish(self, callback: Callback) -> None:
        """Go on with a login that was begun earlier."""
        await self.run(self._authorization.finish(callback))
        await self.expect_login()

    async def stored_grant(self) -> Grant | None:
        """The grant in the store, expired or not."""
        return await self.run(self._authorization.stored_grant())


class StaticAuthorizer(FlowRunner):
    """Authorizes requests with a token or key that a function gives; an `Authorizer`."""

    def __init__(
        self, authorization: StaticAuthorization, store: CredentialStore, fetcher: GuardedFetcher
    ) -> None:
        super().__init__(authorization.server_url, store, fetcher)
        self._authorization = authorization

    def request(self, method: str, url: str, *, passive: bool = False) -> _Request:
        """The authorization of one request."""
        return _Request(self._authorization.request(method, url), self, passive=passive)


class _Request:
    """The authorization of one request, see `transports.authorized.RequestAuthorization`."""

    def __init__(
        self,
        flows: AuthorizedRequest | StaticRequest,
        runner: FlowRunner,
        *,
        passive: bool,
    ) -> None:
        self._flows = flows
        self._runner = runner
        self._passive = passive

    async def headers(self, url: str | None = None) -> Mapping[str, str]:
        return await self._runner.run(self._flows.headers(url), passive=self._passive)

    def note(self, head: ResponseHead) -> None:
        # Any answer may carry the nonce for the next proof (RFC 9449 section 8.2).
        if "dpop-nonce" in head.headers:
            result_at_once(self._flows.recover(_response(head)))

    async def recover(self, head: ResponseHead) -> bool:
        if self._passive:
            return False
        return await self._runner.run(self._flows.recover(_response(head)))


def _refuse(effect: object) -> object:
    raise AuthError("there are no valid credentials")


def result_at_once(flow: Flow[T]) -> T:
    """The result of a flow that asks for nothing."""
    try:
        effect = next(flow)
    except StopIteration as stop:
        return cast(T, stop.value)
    raise AssertionError(f"a flow that should ask for nothing asks for {effect!r}")


def _response(head: ResponseHead) -> Response:
    return Response(head.status, head.headers.pairs(), b"")


_PACKAGE = __name__.rpartition(".net.")[0]


def forget_variables(error: BaseException) -> None:
    """Clear the variables of the library's frames that an error, or its cause, came through.

    Services that collect errors send the variables of every frame, and those of a login are tokens,
    codes and secrets. The lines stay, so that a traceback still says where. Frames that still run
    keep their variables, and so do those of other code.
    """
    seen: set[int] = set()
    chain: list[BaseException | None] = [error]
    while chain:
        link = chain.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        chain += (link.__cause__, link.__context__)
        entry = link.__traceback__
        while entry is not None:
            if _is_ours(entry.tb_frame):
                with suppress(RuntimeError):  # it still runs
                    entry.tb_frame.clear()
            entry = entry.tb_next


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return isinstance(name, str) and name.startswith(f"{_PACKAGE}.")
