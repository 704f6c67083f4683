"""The blocking client of one server, and what makes a blocking class of an asynchronous one.

A subclass of `Blocking` names its asynchronous class. Each public coroutine method of that class
becomes a method that runs the coroutine in the loop thread and waits; plain methods and properties
are passed on; ``async with`` and ``async for`` become ``with`` and ``for``. Results are translated
as well: an object of an asynchronous class becomes its twin.
"""

from __future__ import annotations

import concurrent.futures
import functools
import inspect
import os
from collections.abc import Collection, Coroutine
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Literal
from weakref import WeakSet

from ..client import client, subscription
from ..client.client import Client as AsyncClient
from ..errors import UsageError
from .handlers import HANDLERS, with_workers
from .loop_thread import loop_thread

if TYPE_CHECKING:
    from ..adapters.model_api import Provider
    from ..adapters.toolbox import ToolboxOptions
    from ..client.answers.answerers import RootsOption
    from ..client.connection.targets import Target
    from ..typing_compat import Unpack
    from .toolbox import Toolbox

_SPECIAL = {
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "__getitem__": "__getitem__",
}

TWINS: dict[type, type[Blocking]] = {}
"""The twins of asynchronous classes."""


class Blocking:
    """An object of an asynchronous class, usable from any thread."""

    _class: ClassVar[type]
    _object: Any
    _process_id: int | None = None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls, of: type | None = None, only: Collection[str] = ()) -> None:
        """Add the members of ``of``, the asynchronous class; with ``only``, just these.

        Attributes of its objects are added if this class declares them.
        """
        super().__init_subclass__()
        if of is None:
            return
        cls._class = of
        TWINS[of] = cls
        for name in cls.__annotations__:
            if not name.startswith("_"):
                setattr(cls, name, _attribute(name))
        for name in only or dir(of):
            public = _SPECIAL.get(name, "" if name.startswith("_") else name)
            if public and not hasattr(cls, public):
                setattr(cls, public, _blocking(name, inspect.getattr_static(of, name)))

    def __repr__(self) -> str:
        return repr(self._object).replace("mcpclient.", "mcpclient.sync.", 1)

    def _start(
        self, method: Callable[..., Any], *arguments: Any, **options: Any
    ) -> Coroutine[Any, Any, Any]:
        loop_thread()  # it may refuse, before there is a coroutine
        self._require_own_process()
        return self._begin(method, *arguments, **options)

    def _result_of(self, begun: Coroutine[Any, Any, Any]) -> Any:
        return twin_of(loop_thread().run(begun), self)

    def _begin(
        self, method: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any, **options: Any
    ) -> Coroutine[Any, Any, Any]:
        return method(self._object, *arguments, **options)

    def _require_own_process(self) -> None:
        process_id = os.getpid()
        if self._process_id != process_id:
            if self._process_id is not None:
                raise UsageError(
                    f"this {type(self).__name__} was connected before the program forked, and is "
                    'the parent\'s: make it with after_fork="reconnect", or make another in this '
                    "process, for example at its first call"
                )
            self._process_id = process_id


class Owned(Blocking):
    """An object that the caller makes, and that is closed at the end of the program at the latest.

    ``after_fork``: the behaviour in a process that was forked after the first use: with
    ``"refuse"`` each call raises `UsageError`, with ``"reconnect"`` the first call reconnects.
    """

    _connecting: ClassVar[str]
    _is_to_connect = False

    def __init__(
        self,
        *arguments: Any,
        after_fork: Literal["refuse", "reconnect"] = "refuse",
        **options: Any,
    ) -> None:
        if after_fork not in ("refuse", "reconnect"):
            raise UsageError(f'after_fork is "refuse" or "reconnect", not {after_fork!r}')
        self._make = functools.partial(self._class, *arguments)
        self._options = options
        self._object = self._make(**with_workers({**options}))
        if after_fork == "reconnect":
            _made_anew_after_fork.add(self)

    def _require_own_process(self) -> None:
        is_new = self._process_id is None
        super()._require_own_process()
        if is_new:
            loop_thread().to_close(self._object)

    def _begin(
        self, method: Callable[..., Any], *arguments: Any, **options: Any
    ) -> Coroutine[Any, Any, Any]:
        coroutine = super()._begin(method, *arguments, **options)
        if method.__name__ in ("close", "__aexit__"):
            self._is_to_connect = False
        return self._connected_first(coroutine) if self._is_to_connect else coroutine

    def toolbox(self, provider: str | Provider, **options: Unpack[ToolboxOptions]) -> Toolbox:
        """Return a toolbox for one model API, with the tools listed already.

        See `mcpclient.Toolbox`; ``approve`` may block. Raises what `list_tools` does.
        """
        from .toolbox import Toolbox

        return Toolbox(self, provider, **options)

    async def _connected_first(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        try:
            await getattr(self._object, self._connecting)()
        except BaseException:
            coroutine.close()
            raise
        self._is_to_connect = False
        return await coroutine

    def submit(
        self, method: str, *arguments: Any, **options: Any
    ) -> concurrent.futures.Future[Any]:
        """Start a method without waiting, and return the future of its result.

        Any number may run at once, without a thread for each. Cancelling the future cancels the
        call and notifies the server. Raises `UsageError` for a name that is not a blocking method.
        """
        function = getattr(self._class, method, None)
        if method.startswith("_") or not inspect.iscoroutinefunction(function):
            raise UsageError(f"there is no blocking method {method!r} to submit")
        thread = loop_thread()
        self._require_own_process()
        begin = functools.partial(self._begin, function, *arguments, **with_workers(options))

        async def run() -> Any:
            return twin_of(await begin(), self)

        return thread.submit(run())


_made_anew_after_fork: WeakSet[Owned] = WeakSet()
_of_the_parent: list[Any] = []  # kept: freeing them could close files that the parent uses


def _make_all_anew() -> None:
    """Replace the objects in a forked child: their connections belong to the parent."""
    for owned in _made_anew_after_fork:
        if owned._process_id is not None:
            _of_the_parent.append(owned._object)
            owned._object = owned._make(**with_workers({**owned._options}))
            owned._process_id, owned._is_to_connect = None, True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_make_all_anew)


def twin_of(value: Any, holder: Blocking | None = None) -> Any:
    """Return the twin of an object; other values are returned as they are.

    ``holder``: the twin whose method returned the value, which may be its own object.
    """
    twin = TWINS.get(type(value))
    if twin is None:
        return value
    if holder is not None and holder._object is value:
        return holder
    made = twin.__new__(twin)
    made._object = value
    return made


def blocking_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that runs a coroutine function in the loop thread and waits."""

    @functools.wraps(function)
    def run(*arguments: Any, **options: Any) -> Any:
        thread = loop_thread()
        begun = function(*arguments, **with_workers(options))
        # No traceback may hold the code of a login, which may be among the arguments.
        del arguments, options
        return thread.run(begun)

    return run


def _blocking(name: str, member: Any) -> Any:
    if isinstance(member, property):
        return _attribute(name, member.__doc__)
    if name == "__anext__":
        return _next_of(member)
    is_awaited = inspect.iscoroutinefunction(member)

    @functools.wraps(member)
    def run(self: Blocking, *arguments: Any, **options: Any) -> Any:
        moved = with_workers(options)
        if not is_awaited:
            return twin_of(member(self._object, *arguments, **moved), self)
        begun = self._start(member, *arguments, **moved)
        # A traceback would show them; the client knows which of them are secret.
        del arguments, options, moved
        return self._result_of(begun)

    return run


def _attribute(name: str, doc: str | None = None) -> property:
    return property(lambda self: twin_of(getattr(self._object, name), self), doc=doc)


def _next_of(method: Callable[..., Any]) -> Callable[[Blocking], Any]:
    def run(self: Blocking) -> Any:
        """Wait for the next, until there are no more."""
        try:
            return self._result_of(self._start(method))
        except StopAsyncIteration:
            raise StopIteration from None

    return run


class Client(Owned, of=AsyncClient):
    """A connection to one MCP server, whose calls block: `mcpclient.Client` for plain programs.

    ``with Client(target, …) as client`` connects and closes; so do ``client = connect(target, …)``
    and ``client.close()``. For target and options see `mcpclient.Client`.

    One client may be used by any number of threads at once, also where an event loop runs already.
    All clients of a process share one background thread, which starts with the first call and
    closes open clients when the program ends.

    Handlers that are plain functions run in threads of their own: they may block, and may call the
    client. In an around-hook that is a plain function, ``proceed`` blocks. Ctrl-C cancels the
    pending call and notifies the server.

    In the child of a program that forks, a client that was connected before raises `UsageError`.
    With ``after_fork="reconnect"`` its first call there reconnects; its earlier subscriptions and
    toolboxes belong to the parent.
    """

    _connecting = "connect"

    @functools.wraps(AsyncClient.set_roots)
    def set_roots(self, roots: RootsOption) -> None:
        """Do the same as `mcpclient.Client.set_roots`; a plain function may block."""
        self._result_of(self._start(AsyncClient.set_roots, HANDLERS["roots"](roots)))

    @property
    def async_client(self) -> AsyncClient:
        """The asynchronous client underneath, for coroutines; both may be used together."""
        client: AsyncClient = self._object
        return client


class Subscription(Blocking, of=subscription.Subscription):
    """An iterator over a server's notifications of changes. See `mcpclient.Subscription`.

    ``with client.listen(…) as subscription`` waits until the server has agreed, and ends the
    subscription at the end of the block. `close` from another thread ends the iteration.
    """


def connect(target: Target, **options: Any) -> Client:
    """Connect to an MCP server, and return the client. For the arguments see `Client`.

    It is closed by ``client.close()``, by using it as a context manager, or at the end of the
    program. Raises what `Client.connect` does.
    """
    made = Client(target, **options)
    made.connect()
    return made


call: Callable[..., Any] = blocking_function(client.call)
list_tools: Callable[..., Any] = blocking_function(client.list_tools)
