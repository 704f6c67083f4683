"""The effects that a flow yields, their answers, and the protocols of a host that performs them.

A flow is a generator. It requests an effect with ``answer = yield from Load(key)``; the runner
performs each yielded effect and returns the answer with ``flow.send(answer)``, or raises a failure
in the flow with ``flow.throw(error)``. `get_document` and `post` are HTTP as flows use it:
guarded, bounded, and with no redirect for anything secret.

Effects hold tokens, codes and verifiers, so no repr shows more than an address.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Generic, Optional, Protocol, TypeVar, cast
from urllib.parse import urlencode

from ..display import shown_url
from ..errors import AuthError, UsageError
from .url_guard import UrlPolicy, assert_safe_url, resolve

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

# A record in a store: a JSON object.
StoredItem = Mapping[str, object]

# A flow yields effects, is sent an answer that fits each, and returns a T.
Flow = Generator["Effect[object]", object, T]


class Effect(Generic[T_co]):
    """An action that a flow requests: ``answer = yield from effect``."""

    def __iter__(self) -> Flow[T_co]:
        return cast(T_co, (yield self))


@dataclass(frozen=True)
class Response:
    """An HTTP response. ``headers``: (name, value) pairs in order; a name may come twice."""

    status: int
    headers: Sequence[tuple[str, str]] = field(repr=False)
    body: bytes = field(repr=False)

    def header_values(self, name: str) -> list[str]:
        """Return every value of the header ``name``, in any case, in order."""
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def header(self, name: str) -> str | None:
        """Return the first value of the header ``name``, or None."""
        return next(iter(self.header_values(name)), None)


@dataclass(frozen=True, repr=False)
class Fetch(Effect[Response]):
    """Send one HTTP request and answer with a `Response`, whatever its status.

    The runner follows no redirect, reads at most ``max_body`` + 1 bytes of the body, and before it
    connects calls `url_guard.check_address` with the very address. It throws a failure of the
    network into the flow as a `NetworkError`; a longer body raises AuthError.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    policy: UrlPolicy
    max_body: int

    def __iter__(self) -> Flow[Response]:
        response = yield from super().__iter__()
        if len(response.body) > self.max_body:
            raise AuthError(f"{shown_url(self.url)} answered with more than {self.max_body} bytes")
        return response

    def __repr__(self) -> str:
        return f"Fetch({self.method} {shown_url(self.url)})"


@dataclass(frozen=True)
class OpenRedirect(Effect[str]):
    """Prepare for the user's return and answer with the redirect URI that leads back.

    ``configured``: the only possible answer, if given. Of all others, one of ``registered``, which
    the authorization server knows already, saves a new registration.
    """

    configured: str | None
    registered: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, repr=False)
class Callback:
    """The parameters with which an authorization server sent the user back."""

    code: str | None = None
    state: str | None = None
    iss: str | None = None
    error: str | None = None
    error_description: str | None = None

    def __repr__(self) -> str:
        return "Callback(error)" if self.error else "Callback()"


@dataclass(frozen=True, repr=False)
class Authorize(Effect[Callback]):
    """Lead the user to ``url`` and answer with the `Callback` that comes to ``redirect_uri``.

    A runner that cannot wait for the user throws ``AuthorizationRequired(url)`` into the flow. The
    flow's state is saved by then, and `flow.Authorization.finish` continues from it.
    """

    url: str
    state: str
    redirect_uri: str

    def __repr__(self) -> str:
        return f"Authorize({shown_url(self.url)})"


@dataclass(frozen=True, repr=False)
class ShowDeviceCode(Effect[None]):
    """Tell the user to open ``verification_uri`` and to enter ``user_code``; answer at once.

    ``verification_uri_complete`` contains the code. ``expires_in``: in seconds.
    """

    user_code: str
    verification_uri: str
    verification_uri_complete: str | None
    expires_in: float

    def __repr__(self) -> str:
        return f"ShowDeviceCode({shown_url(self.verification_uri)})"


@dataclass(frozen=True)
class Now(Effect[float]):
    """Answer with the time in seconds since the epoch."""


@dataclass(frozen=True)
class Wait(Effect[None]):
    """Answer after ``seconds``."""

    seconds: float


@dataclass(frozen=True)
class RandomBytes(Effect[bytes]):
    """Answer with ``count`` random bytes fit for secrets, as from `secrets.token_bytes`."""

    count: int


@dataclass(frozen=True)
class Load(Effect[Optional[StoredItem]]):
    """Answer with the record stored under ``key``; None also for one that is not an object."""

    key: str

    def __iter__(self) -> Flow[StoredItem | None]:
        record = yield from super().__iter__()
        return record if isinstance(record, Mapping) else None


@dataclass(frozen=True)
class Save(Effect[None]):
    """Store ``record`` under ``key``; None removes the record there."""

    key: str
    record: StoredItem | None = field(repr=False)


@dataclass(frozen=True)
class Ask(Effect[object]):
    """Call the user's own ``function``, plain or async, without arguments."""

    function: Callable[[], object] = field(repr=False)


@dataclass(frozen=True)
class Exclusive(Effect[T]):
    """Run ``flow`` under the lock called ``name``, which excludes all who share the store.

    ``flow`` loads from the store first, so only the first of many waiters does the work.
    """

    name: str
    flow: Flow[T] = field(repr=False)


@dataclass(frozen=True)
class Shielded(Effect[T]):
    """Run ``flow`` to its end once it has begun, and answer with its result.

    Even if the caller is cancelled, the runner gives it 5 seconds for that: the server may have
    replaced a refresh token by then, and its response must not be lost.
    """

    flow: Flow[T] = field(repr=False)


def token_from(source: str | Callable[[], object]) -> Flow[str]:
    """Return ``source``, or the token that it gives as a function. Raises UsageError."""
    token = source if isinstance(source, str) else (yield from Ask(source))
    if not isinstance(token, str) or not token:
        raise UsageError("the function for a token must return a string that is not empty")
    return token


class CredentialStore(Protocol):
    """A store of credentials: JSON objects, under keys that contain no secret.

    Only the same user may be able to read it.
    """

    async def load(self, key: str) -> StoredItem | None:
        """Return the record under ``key``, or None."""

    async def save(self, key: str, record: StoredItem | None) -> None:
        """Store ``record`` under ``key``, whole or not at all; None removes it."""

    def lock(self, name: str) -> AbstractAsyncContextManager[object]:
        """Return a lock that excludes every task and process that uses the same store."""
        ...


class AuthProvider(CredentialStore, Protocol):
    """A host's own storage and its own way to lead a user to a URL and back."""

    async def open_redirect(self, configured: str | None, registered: tuple[str, ...]) -> str:
        """Return the redirect URI that leads back here (see `effects.OpenRedirect`)."""
        ...

    async def authorize(self, request: Authorize) -> Callback | None:
        """Lead the user to ``request.url`` and return the callback.

        None when the program does not wait for the user: the call in progress then fails with
        AuthorizationRequired, and `finish_auth` continues when the user is back.
        """

    async def show_device_code(self, request: ShowDeviceCode) -> None:
        """Show the user the code, and the page to enter it."""


# Metadata of real servers has a few kilobytes.
MAX_BODY = 256 * 1024

_MAX_REDIRECTS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


def parse_object(body: bytes) -> Mapping[str, object] | None:
    """Return the JSON object in ``body``; None for anything else."""
    try:
        document = json.loads(body.decode("utf-8-sig"))
        # A lone surrogate would only fail later, when the string is sent.
        json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def part_of(record: StoredItem, name: str) -> StoredItem:
    """Return the record inside a record; an empty one for anything else."""
    value = record.get(name)
    return value if isinstance(value, Mapping) else {}


def strings_in(value: object) -> tuple[str, ...] | None:
    """Return a JSON value that is a list of strings; None for anything else."""
    is_list = isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)
    return tuple(cast("Sequence[str]", value)) if is_list else None


def number_in(value: object) -> float | None:
    """Return a JSON value that is a finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


# By the type of a field, as it is written.
_READERS: dict[str, Callable[[object], object]] = {
    "bool": lambda value: value is True,
    "float": number_in,
    "str": lambda value: value if isinstance(value, str) else None,
    "tuple[str, ...]": strings_in,
}


def value_for(each: Field[Any], record: StoredItem) -> object:
    """Return the value of a field of a dataclass in a record; None for one of another type."""
    return _READERS[str(each.type).replace(" | None", "")](record.get(each.name))


def read_record(kind: type[T], record: StoredItem, **parts: object) -> T | None:
    """Read a dataclass from a record, but ``parts``, which were read; None when it is damaged."""
    values = parts
    for each in fields(cast(Any, kind)):
        if each.name in parts:
            continue
        value = value_for(each, record)
        if value is not None or "None" in str(each.type):
            values[each.name] = value
        elif each.default is MISSING:
            return None
    return kind(**values)


def get_document(
    url: str, issuer_url: str | None, policy: UrlPolicy, headers: Mapping[str, str]
) -> Flow[Response]:
    """GET ``url``, with a few redirects, each guarded. Raises SsrfError and AuthError."""
    for _ in range(_MAX_REDIRECTS + 1):
        assert_safe_url(url, issuer_url, policy)
        accepting = {"Accept": "application/json", **headers}
        response = yield from Fetch("GET", url, accepting, None, policy, MAX_BODY)
        location = response.header("location")
        if response.status not in _REDIRECTS or location is None:
            return response
        url = resolve(url, location)
    raise AuthError(f"{shown_url(url)}: too many redirects")


def post(
    url: str,
    issuer_url: str | None,
    policy: UrlPolicy,
    headers: Mapping[str, str],
    body: bytes | Sequence[tuple[str, str]],
) -> Flow[Response]:
    """POST a form (pairs) or JSON (bytes) to an endpoint of the authorization server.

    A redirect is an error: it would pass secrets on. Raises SsrfError and AuthError.
    """
    assert_safe_url(url, issuer_url, policy)
    if isinstance(body, bytes):
        content_type, content = "application/json", body
    else:
        content_type, content = "application/x-www-form-urlencoded", urlencode(body).encode()
    every_header = {"Accept": "application/json", "Content-Type": content_type, **headers}
    response = yield from Fetch("POST", url, every_header, content, policy, MAX_BODY)
    if response.status in _REDIRECTS:
        raise AuthError(f"{shown_url(url)} answered with a redirect, which is not followed")
    return response
