"""Cassettes: recordings of servers that are made once, and replayed in every later test.

Snapshots of a server's tools show a review each change of them.
"""

from __future__ import annotations

import difflib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Literal, get_args

from ..client.client import Client
from ..client.connection.options import Wiring
from ..errors import UsageError
from ..net.files import change_file, write_file
from ..net.regular_files import open_regular
from ..protocol.types import Tool
from ..transports.replaying import MAX_RECORDING_SIZE, Recording

if TYPE_CHECKING:
    from ..client.connection.client_options import ClientOptions
    from ..client.connection.limits import RequestOptions
    from ..client.connection.targets import Target
    from ..sync import Client as BlockingClient
    from ..typing_compat import Unpack

Mode = Literal["once", "none", "all", "new"]
"""``"once"``: record if there is no file yet, otherwise replay. ``"none"``: never record, as in CI.
``"all"``: record again, for a server that has changed. ``"new"``: replay the recorded requests and
record the others, for a program that makes more calls than before."""

_MAX_SNAPSHOT_SIZE = 64 * 1024 * 1024

# Options for reaching a server, which a replay does without.
_OF_THE_NETWORK = (
    *("transport", "auth", "headers", "env", "inherit_env", "cwd", "stderr", "stop_ladder"),
    "sandbox",
    *("ca_file", "client_cert", "verify", "ssl_context", "proxy", "unix_socket"),
)

# Observers of the client that replays; the client that records must not notify them again.
_TOLD_ONCE = ("around", "hooks", "on_close")


class Cassette:
    """A file with the recorded messages of servers. See `cassette`."""

    def __init__(
        self, path: str | os.PathLike[str], mode: Mode, match: Sequence[str] = ("method", "params")
    ) -> None:
        if mode not in get_args(Mode):
            raise UsageError(f'mode is "once", "none", "all" or "new", not {mode!r}')
        self.path: str = os.fspath(path)
        is_there = True
        try:
            os.close(open_regular(self.path))
        except FileNotFoundError:
            is_there = False
        except OSError as error:
            raise UsageError(f"cannot use the cassette {self.path!r}: {error.strerror}") from None
        self.is_recording: bool = mode == "all" or (mode in ("once", "new") and not is_there)
        self._is_completed = mode == "new"
        # A file for this object only: others may record the same cassette at the same time.
        self._new_path: str | None = None
        self._recording: Recording | None = None
        if not self.is_recording:
            kind = Completing if self._is_completed else Recording
            self._recording = kind(self.path, match=match)
        if self.is_recording or self._is_completed:
            os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)

    def connect(self, target: Target, **options: Unpack[ClientOptions]) -> Client:
        """Return a client as `mcpclient.connect` does, of the server or of its recording.

        Any number of clients may share a cassette, one after the other.
        """
        client: Client = self._made(Client, target, {**options})
        return client

    def sync_connect(self, target: Target, **options: Unpack[ClientOptions]) -> BlockingClient:
        """Do the same for programs without async, as `mcpclient.sync.connect` does."""
        from ..sync import Client as BlockingClient

        client: BlockingClient = self._made(BlockingClient, target, {**options})
        return client.connect()

    def _made(self, make: Callable[..., Any], target: Target, options: dict[str, Any]) -> Any:
        """Return the client of a test; another one makes requests that a replay lacks."""
        if options.get("trace") is not None:
            raise UsageError("a cassette writes the trace itself: leave out trace=")
        if self._new_path is None and (self.is_recording or self._is_completed):
            descriptor, self._new_path = tempfile.mkstemp(prefix="mcpclient-", suffix=".jsonl")
            os.close(descriptor)
        if self._recording is None:
            return make(target, **{**options, "trace": self._new_path})
        replay = self._recording.another()
        options["_wiring"] = Wiring(ask_elsewhere=getattr(replay, "ask", None))
        client = make(replay, **_without(options, _OF_THE_NETWORK))
        if isinstance(replay, Completing):
            own: Client = getattr(client, "async_client", client)

            def make_client() -> Client:
                given = _without(options, _TOLD_ONCE)
                given.update(trace=self._new_path, protocol_version=own.protocol_version)
                return Client(target, **given)

            replay.make_client = make_client
        return client

    def assert_all_played(self) -> None:
        """Raise `AssertionError` if the program has not made a recorded call.

        Does nothing while recording.
        """
        left = self._recording.unplayed if self._recording is not None else []
        if not left:
            return
        count = "1 recorded call was" if len(left) == 1 else f"{len(left)} recorded calls were"
        lines = [f"{self.path}: {count} not made:"]
        lines += [f"  {method} {json.dumps(params)}" for method, params in left]
        lines.append('If the program is right, record it again with mode="all".')
        raise AssertionError("\n".join(lines))

    def close(self, *, failed: bool = False) -> None:
        """Save the recording, or check that all of it was played; with ``failed`` do neither.

        Raises what `assert_all_played` does. The file changes only here, so a test that fails while
        it records leaves the previous file as it was.
        """
        new, path, self._new_path = b"", self._new_path, None
        if path is not None:
            with open(path, "rb") as file:
                new = file.read()
            os.remove(path)
        if failed:
            return
        if new:
            try:
                # Under a lock and as a whole: two processes may record the same cassette.
                change_file(
                    self.path,
                    lambda content: new if self.is_recording else (content or b"") + new,
                    limit=MAX_RECORDING_SIZE,
                    new_mode=0o600,
                )
            except OSError as error:
                raise UsageError(f"cannot write the cassette {self.path!r}: {error}") from None
        self.assert_all_played()

    def __enter__(self) -> Cassette:
        return self

    def __exit__(self, *error: object) -> None:
        self.close(failed=error[0] is not None)


def cassette(
    path: str | os.PathLike[str],
    *,
    mode: Mode = "once",
    match: Sequence[str] = ("method", "params"),
) -> Cassette:
    """Return a context manager that records the messages of servers in a file, or replays them.

    ::

        with cassette("tests/search.jsonl") as tape:
            async with tape.connect("https://example.com/mcp", auth=OAuth()) as client:
                await client.call_tool("search", {"q": "x"})

    The first run talks to the server; later runs need neither server nor network. A call that was
    not recorded raises `NotRecorded`. A recorded call that is no longer made fails the test at the
    end of the block. The file is a transcript, in which secrets are replaced.

    ``mode``: see `Mode`. ``match``: the parts that a request must share with a recorded one:
    ``"method"``, and ``"params"`` or members of them such as ``"params.name"``. Raises `UsageError`
    if there is nothing to replay.
    """
    return Cassette(path, mode, match)


def _without(options: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in names}


class Completing(Recording):
    """A `Recording` whose missing requests another client makes of the server.

    ``make_client``: returns that client, which connects when it is first needed.
    """

    make_client: Callable[[], Client]
    _client: Client | None = None

    async def ask(
        self, method: str, params: Mapping[str, Any] | None, options: RequestOptions
    ) -> dict[str, Any]:
        """Make a request of the server."""
        if self._client is None:
            self._client = self.make_client()
        await self._client.connect()
        on_progress = options.on_progress
        return await self._client.request(
            method,
            params,
            timeout=options.timeout,
            max_timeout=options.max_timeout,
            on_progress=on_progress if on_progress is None else lambda each: on_progress(each.raw),
            headers=options.headers,
        )

    async def close(self) -> None:
        """Stop the replay and close the client of the server."""
        await super().close()
        client, self._client = self._client, None
        if client is not None:
            await client.close()


def tools_text(tools: Iterable[Tool]) -> str:
    """Return the definitions of tools as text: JSON, laid out for reading, sorted by name."""
    listed = sorted((tool.raw for tool in tools), key=lambda raw: str(raw.get("name")))
    return json.dumps(listed, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def check_tools(
    tools: Iterable[Tool], path: str | os.PathLike[str], *, update: bool = False
) -> None:
    """Raise `AssertionError` with a diff if the tools differ from the file.

    ``tools``: the result of ``list_tools``. The file is written if it does not exist, or with
    ``update``. Names, descriptions and schemas of tools are a server's interface for models, so
    each change is shown line by line, as ``diff -u`` does.
    """
    path = os.fspath(path)
    now = tools_text(tools)
    if update or not os.path.exists(path):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        write_file(path, now.encode())
        return
    with open(open_regular(path, limit=_MAX_SNAPSHOT_SIZE), encoding="utf-8") as file:
        before = file.read()
    if before != now:
        said = "If that is right, write the file again with update=True or --mcp-update."
        changes = difflib.unified_diff(
            before.split("\n"), now.split("\n"), path, "now", lineterm=""
        )
        raise AssertionError("\n".join(["the tools have changed:", *changes, said]))
