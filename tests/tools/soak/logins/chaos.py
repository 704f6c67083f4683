"""Several processes use the logins of many users, and are killed, until enough was refreshed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from ..lanes import free_port, kill
from ..watch import Violations
from .journal import Journal, Line, Tokens

_HERE = Path(__file__).parent

# How many refreshes there are, on the average, between two kills at a random moment.
_KILLED_EVERY = 60

# Seconds without any refresh after which no client will refresh any more.
_PATIENCE = 60.0

_LOOK_EVERY = 0.01


class Chaos:
    """``strict``: each refresh token counts once. Then no client is killed while the server has
    used a token and its successor is not stored, since no client can hold such a login: it is
    killed before or after, and whoever waits for an answer is cancelled and interrupted.
    """

    def __init__(
        self,
        seed: int,
        folder: Path,
        violations: Violations,
        *,
        strict: bool = False,
        processes: int = 4,
        users: int = 24,
    ) -> None:
        self.facts: Counter[str] = Counter()
        self._folder = folder
        self._violations = violations
        self._strict = strict
        self._seed = seed
        self._random = Random(seed)
        self._users = [f"u{number}" for number in range(users)]
        self._port = str(free_port(self._random))
        self._environment = {
            **os.environ,
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }
        self.started = 0
        self._writers: set[str] = set()
        self._interrupted: set[int] = set()
        self._clients: list[subprocess.Popen[bytes] | None] = [None] * processes
        self._server: subprocess.Popen[bytes] | None = None
        (folder / "holders").mkdir()
        self._journal = Journal(folder / "journal", "chaos")
        self._read = 0

    def run(self, refreshes: int) -> None:
        """Go on until so many tokens were refreshed; then stop everything, and judge."""
        patience = time.monotonic() + _PATIENCE
        next_kill = self._random.randrange(2 * _KILLED_EVERY)
        try:
            while self.facts["rotated"] < refreshes:
                self._keep_running()
                if self._count():
                    patience = time.monotonic() + _PATIENCE
                if time.monotonic() > patience:
                    self._violations.add(f"nothing was refreshed for {_PATIENCE} s")
                    break
                if self.facts["rotated"] >= next_kill:
                    next_kill += self._random.randrange(2 * _KILLED_EVERY)
                    self._disturb()
                time.sleep(_LOOK_EVERY)
        finally:
            self.kill()
        self._count()
        lines = self._journal.lines()
        self._journal.close()
        self.facts.update(judged(lines, self._strict, self._folder, self._violations))

    def _keep_running(self) -> None:
        """Start again what has ended."""
        if self._server is None or self._server.poll() is not None:
            self._server = self._begin("authority", self._server, self._rotation)
        for index, client in enumerate(self._clients):
            if client is None or client.poll() is not None:
                users = self._random.sample(self._users, min(6, len(self._users)))
                self._clients[index] = self._begin("client", client, self._rotation, *users)

    @property
    def _rotation(self) -> str:
        return "strict" if self._strict else "lenient"

    def _begin(
        self, module: str, old: subprocess.Popen[bytes] | None, *more: str
    ) -> subprocess.Popen[bytes]:
        if old is not None:
            kill(old)
        self.started += 1
        name = [f"client-{self.started}"] if module == "client" else []
        seed = f"{self._seed}-{self.started}"
        command = [sys.executable, "-E", str(_HERE / f"{module}.py"), str(self._folder)]
        command += [self._port, *name, seed, *more]
        # Whoever speaks to a server that is killed, or is one, may complain.
        log = os.devnull if module == "authority" else self._folder / "stderr"
        with open(log, "ab") as errors:
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, stderr=errors, env=self._environment
            )

    def _disturb(self) -> None:
        """Kill or interrupt one client, whatever it is doing."""
        client = self._random.choice(self._clients)
        how = (
            signal.SIGINT if self._strict else self._random.choice((signal.SIGKILL, signal.SIGINT))
        )
        if client is not None and client.poll() is None and self._may_be_interrupted(client):
            self._journal.write("disturbed", f"client-{signal.Signals(how).name}")
            self._interrupted.add(client.pid)
            client.send_signal(how)

    def _may_be_interrupted(self, client: subprocess.Popen[bytes]) -> bool:
        """Whether it is past its imports, and not ending already: a second Ctrl-C waits for
        nothing.
        """
        assert isinstance(client.args, list)
        return client.args[5] in self._writers and client.pid not in self._interrupted

    def _count(self) -> bool:
        """Read what has been written since the last time; whether anybody has made progress."""
        with open(self._folder / "journal", "rb") as file:
            file.seek(self._read)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        before = self.facts["rotated"]
        for line in whole.decode().splitlines():
            verb, user, _, writer = line.split()
            self.facts[f"disturbed by {user}" if verb == "disturbed" else verb] += 1
            self._writers.add(writer)
        return self.facts["rotated"] > before

    def kill(self) -> None:
        clients = [client for client in self._clients if client is not None]
        for client in clients if self._strict else ():
            self._end_gently(client)
        for process in (*clients, self._server):
            if process is not None:
                kill(process)
        errors = (self._folder / "stderr").read_text()
        if errors:
            self._violations.add(f"a client wrote: {errors[-2000:]}")

    def _end_gently(self, client: subprocess.Popen[bytes]) -> None:
        patience = time.monotonic() + _PATIENCE
        while client.poll() is None:
            self._count()
            if self._may_be_interrupted(client):
                self._interrupted.add(client.pid)
                client.send_signal(signal.SIGINT)
            if time.monotonic() > patience:
                self._violations.add("a client that was interrupted did not end")
                return
            time.sleep(_LOOK_EVERY)


def judged(lines: list[Line], strict: bool, folder: Path, violations: Violations) -> dict[str, int]:
    """Compare the server's words and the clients' with each other and with the store.

    Returns how many logins were lost.
    """
    tokens = Tokens(strict)
    has_login: set[str] = set()
    holders: dict[str, str] = {}
    lost = 0
    for line in lines:
        tokens.take(line)
        if line.verb == "wrong":
            violations.add(f"{line.writer}: {line.user}")
        elif line.verb == "refused":
            violations.add(f"{line.writer}: token {line.number} of {line.user} no longer counts")
        elif line.verb == "asked" and line.user in has_login:
            lost += 1
            violations.add(f"{line.writer}: {line.user} had to log in again")
        elif line.verb == "locked":
            if holders.get(line.user) == line.writer:
                violations.add(f"two tasks of {line.writer} hold the lock of {line.user}")
            holders[line.user] = line.writer
        elif line.verb in ("saved", "unlocked") and holders.get(line.user) != line.writer:
            violations.add(f"{line.writer} and {holders.get(line.user)} hold a lock at once")
        if line.verb == "saved":
            has_login.add(line.user)
        elif line.verb == "unlocked":
            holders.pop(line.user, None)
    stored = _stored(folder / "credentials.json")
    for user in sorted(has_login):
        if stored.get(user) not in tokens.valid[user]:
            lost += 1
            violations.add(
                f"the store holds token {stored.get(user)} of {user}, {tokens.valid[user]} count"
            )
    names = [path.name for path in folder.iterdir()]
    left = [name for name in names if "credentials.json." in name]
    if len(left) > 1:  # of the last process that was killed
        violations.add(f"there are {len(left)} unfinished copies of the store: {left[:3]}")
    return {"lost": lost, "users with a login": len(has_login)}


def _stored(path: Path) -> dict[str, int]:
    """The number of each user's refresh token in the store."""
    records: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    found = {}
    for key, record in records.items():
        if key.startswith("grant OAuth "):
            number = record["tokens"]["refresh_token"].rpartition("-")[2]
            found[key.split("/")[-2]] = int(number)
    return found
