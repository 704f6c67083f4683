"""The blocking client of one server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from ..client import client, listen
from ..client.client import Client as AsyncClient
from .blocking import Blocking, Owned, blocking_function

if TYPE_CHECKING:
    from ..client.connection.targets import Target


class Client(Owned, of=AsyncClient):
    """A connection to one MCP server, whose calls block: `mcpclient.Client` for plain programs.

    ``with Client(target, …) as client`` connects and closes; so do ``client = connect(target, …)``
    and ``client.close()``. Target and options are those of `mcpclient.Client`.

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

    @property
    def async_client(self) -> AsyncClient:
        """The asynchronous client underneath, for coroutines; both may be used together."""
        client: AsyncClient = self._object
        return client


class Subscription(Blocking, of=listen.Subscription):
    """An iterator over a server's notifications of changes. See `mcpclient.Subscription`.

    ``with client.listen(…) as subscription`` waits until the server has agreed, and ends the
    subscription at the end of the block. `close` from another thread ends the iteration.
    """


def connect(target: Target, **options: Any) -> Client:
    """Connect to an MCP server, and return the client. Arguments are those of `Client`.

    It is closed by ``client.close()``, by using it as a context manager, or at the end of the
    program. Raises what `Client.connect` does.
    """
    made = Client(target, **options)
    made.connect()
    return made


call: Callable[..., Any] = blocking_function(client.call)
list_tools: Callable[..., Any] = blocking_function(client.list_tools)
