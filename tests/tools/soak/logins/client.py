"""One process with the clients of some users, which may be killed at any moment.

Run as a file::

    python client.py FOLDER PORT NAME SEED strict|lenient USER...

A manager with one server for each user; several tasks call, listen and give up. All processes share
the credential store of the folder. It ends by itself after a number of calls, when it is
interrupted, and when its standard input ends.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, str(Path(__file__).parents[4]))

from mcpclient import Manager, McpError, OAuth
from mcpclient.auth.effects import Authorize, Callback
from mcpclient.net import files
from mcpclient.net.login.storage import FileStore
from tests.tools.soak.logins.journal import Journal

# When a process kills itself, and how often: around the saving of a token. Where tokens are
# strictly used once, only what is saved outlives its process, and nothing else may be under way.
MOMENTS = {"unsaved": 0.015, "unreplaced": 0.015, "saved": 0.015}

_WORKERS = 3
_CALLS = 120
_CANCELLED = 0.1


class SoakUser(FileStore):
    """A store, and a user who always says yes."""

    def __init__(self, folder: Path, journal: Journal, random: Random, strict: bool) -> None:
        super().__init__(folder / "credentials.json")
        self._holders = folder / "holders"
        self._journal = journal
        self._random = random
        self._moments = [name for name in MOMENTS if not strict or name == "saved"]
        self._strict = strict
        self._under_way = 0
        self._dies_before_replacing = False
        self._replace_file = files.replace_file
        files.replace_file = self._replace  # type: ignore[assignment]

    async def save(self, key: str, record: Any) -> None:
        user = user_in(key) if record is not None else None
        if user is None:
            return await super().save(key, record)
        shares = [MOMENTS[name] for name in self._moments]
        moment = self._random.choices([*self._moments, ""], [*shares, 1 - sum(shares)])[0]
        if moment == "unsaved":
            self._die(moment)
        self._dies_before_replacing = moment == "unreplaced"
        await super().save(key, record)
        if moment == "saved" and not (self._strict and self._under_way > 1):
            self._die(moment)
        number = int(record["tokens"]["refresh_token"].rpartition("-")[2])
        return self._journal.write("saved", user, number)

    def _replace(self, *paths: Any) -> None:
        if self._dies_before_replacing:
            self._die("unreplaced")
        self._replace_file(*paths)

    def _die(self, moment: str) -> None:
        self._journal.write("disturbed", f"client-{moment}")
        os.kill(os.getpid(), signal.SIGKILL)

    @asynccontextmanager
    async def _held(self, user: str, name: str) -> AsyncIterator[None]:
        async with super().lock(name):
            self._under_way += 1
            self._journal.write("locked", user)
            (self._holders / user).write_text(str(os.getpid()))
            try:
                yield
            finally:
                self._under_way -= 1
                self._journal.write("unlocked", user)

    def lock(self, name: str) -> Any:
        user = user_in(name)
        return super().lock(name) if user is None else self._held(user, name)

    async def open_redirect(self, configured: str | None, registered: tuple[str, ...]) -> str:
        return "http://127.0.0.1:1/callback"

    async def authorize(self, request: Authorize) -> Callback:
        query = parse_qs(urlsplit(request.url).query)
        user = re.findall(r"/(u\d+)/", query["resource"][0])[0]
        self._journal.write("asked", user)
        return Callback(code=f"code-{user}", state=request.state)

    async def show_device_code(self, request: object) -> None:
        raise NotImplementedError


def user_in(key: str) -> str | None:
    """Return whose login it is that a record or a lock is about; None when it is something else."""
    found = re.match(r"grant OAuth .*/(u\d+)/", key)
    return found[1] if found else None


class Process:
    """The work of one process."""

    def __init__(self, folder: Path, port: str, name: str, seed: str, strict: bool) -> None:
        self._journal = Journal(folder / "journal", name)
        self._random = Random(seed)
        self._auth = OAuth(
            provider=SoakUser(folder, self._journal, self._random, strict), local_development=True
        )
        self._url = f"http://127.0.0.1:{port}/{{}}/json"
        self._left = _CALLS

    async def run(self, users: list[str]) -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(0, lambda: os._exit(0))
        loop.set_exception_handler(self._note)
        handler = logging.Handler(logging.ERROR)
        handler.emit = lambda record: self._wrong(record.getMessage())  # type: ignore[method-assign]
        logging.getLogger().addHandler(handler)
        servers = {user: self._url.format(user) for user in users}
        versions = ("2025-11-25", "2026-07-28")
        async with Manager(
            servers,
            auth=self._auth,
            protocol_version=self._random.choice(versions),
            tasks=True,
            timeout=20.0,
            wait=1.0,
            listen_wait=0.05,
        ) as manager:
            listening = asyncio.ensure_future(self._listen(manager, users[0]))
            seeds = [self._random.random() for _ in range(_WORKERS)]
            workers = [self._work(manager, users, Random(seed)) for seed in seeds]
            try:
                await asyncio.gather(*workers)
            finally:
                # Before Python 3.12, `asyncio.wait_for` may swallow a cancellation.
                while not listening.done():
                    listening.cancel()
                    await asyncio.wait([listening], timeout=1.0)

    async def _work(self, manager: Manager, users: list[str], random: Random) -> None:
        while self._left > 0:
            self._left -= 1
            call = asyncio.ensure_future(self._call(manager, random.choice(users), random))
            if random.random() < _CANCELLED:
                asyncio.get_running_loop().call_later(random.uniform(0, 0.02), call.cancel)
            try:
                await asyncio.wait([call])
            finally:  # this task may be cancelled as well, at the end
                call.cancel()
                await asyncio.gather(call, return_exceptions=True)
            self._judge(call)

    def _judge(self, call: asyncio.Task[None]) -> None:
        error = None if call.cancelled() else call.exception()
        if error is not None and not isinstance(error, McpError):
            self._wrong(f"a call raised {error!r}")

    async def _call(self, manager: Manager, user: str, random: Random) -> None:
        arguments = {"token": f"{user}-{random.random()}", "act": "echo"}
        if random.random() < 0.1:
            arguments["act"] = "task"
            client = manager[user]
            task = await client.call_tool_task("soak", arguments)
            result = await client.await_task(task)
        else:
            result = await manager.call_tool(f"{user}__soak", arguments)
        if result.text != arguments["token"]:
            self._wrong(f"{arguments['token']} has the result {result.text}")

    async def _listen(self, manager: Manager, user: str) -> None:
        while True:
            with suppress(McpError, asyncio.TimeoutError, StopAsyncIteration):
                async with manager[user].listen(tools=True) as subscription:
                    for _ in range(self._random.randrange(1, 5)):
                        await asyncio.wait_for(subscription.__anext__(), 1.0)
            await asyncio.sleep(0.05)

    def _note(self, loop: object, context: Mapping[str, Any]) -> None:
        self._wrong(f"{context.get('message')} {context.get('exception')!r}")

    def _wrong(self, text: str) -> None:
        self._journal.write("wrong", text)


def main(folder: str, port: str, name: str, seed: str, rotation: str, *users: str) -> None:
    process = Process(Path(folder), port, name, seed, rotation == "strict")
    asyncio.run(_interruptible(process.run(list(users))))


async def _interruptible(work: Awaitable[None]) -> None:
    """Let Ctrl-C cancel the work, as `asyncio.run` does itself from Python 3.11 on.

    Before, Python raises `KeyboardInterrupt` at whatever line is running, also where a lock is just
    given back; no library can be proof against that.
    """
    if sys.version_info < (3, 11):
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
    await work


if __name__ == "__main__":
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        main(*sys.argv[1:])
