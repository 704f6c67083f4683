"""Which servers of project files the user has agreed to.

A project's file comes with the project, from whoever wrote it, so it may neither start a process
nor learn a secret before the user has seen it. What was agreed to is remembered as digests of the
sheets of the entries: one that was edited, or names a file that was, is another one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from ..config.config import ServerConfig
from ..errors import UsageError
from ..net.files import change_file, read_file
from ..net.paths import state_folder

_MAX_STORE_SIZE = 4 * 1024 * 1024
_VERSION = 1


class Approvals:
    """What the user has agreed to, in a file of mode 0600 that is shared by all processes.

    ``ask``: called with a server as written that is not yet approved, whose ``sheet`` says all that
    would be agreed to; True approves it, and anything else does not. That is remembered as long as
    this object. Without ``ask`` nobody is asked, and the server's state is ``"needs_approval"``.
    ``store``: the file (by default ``approvals.json`` in the state folder of
    this user).

    A store that cannot be read, or holds something else, approves nothing.
    """

    def __init__(
        self,
        ask: Callable[[ServerConfig], bool] | None = None,
        store: str | os.PathLike[str] | None = None,
    ) -> None:
        self._ask = ask
        self._path = Path(store) if store is not None else None
        self._refused: set[str] = set()

    @property
    def path(self) -> Path:
        """The file that remembers."""
        return self._path or state_folder(os.environ) / "approvals.json"

    def is_approved(self, server: ServerConfig) -> bool:
        """Whether the user has agreed to this entry; asks nobody."""
        return _key(server) in self._approved()

    def confirm(self, server: ServerConfig) -> bool:
        """Whether the user agrees to this entry: earlier, or now when there is someone to ask.

        Raises what ``ask`` raises, and `UsageError` for an ``ask`` that is async.
        """
        key = _key(server)
        if key in self._approved():
            return True
        if self._ask is None or key in self._refused:
            return False
        answer: object = self._ask(server)
        if hasattr(answer, "__await__"):
            close = getattr(answer, "close", None)
            if close is not None:
                close()
            raise UsageError("ask of Approvals cannot be async: return True or False at once")
        if answer is not True:
            self._refused.add(key)
            return False
        self.approve(server)
        return True

    def approve(self, server: ServerConfig) -> None:
        """Remember that the user agrees. Raises `OSError` when it cannot be written."""
        self._refused.discard(_key(server))
        self._change(server, approved=True)

    def revoke(self, server: ServerConfig) -> None:
        """Forget that the user agreed. Raises `OSError` when that cannot be written."""
        self._change(server, approved=False)

    def _change(self, server: ServerConfig, *, approved: bool) -> None:
        def edit(content: bytes | None) -> bytes:
            keys = _keys_in(content) - {_key(server)} | ({_key(server)} if approved else set())
            return json.dumps({"version": _VERSION, "approved": sorted(keys)}, indent=1).encode()

        change_file(self.path, edit, limit=_MAX_STORE_SIZE, private=True)

    def _approved(self) -> set[str]:
        try:
            return _keys_in(read_file(self.path, limit=_MAX_STORE_SIZE, private=True))
        except OSError:
            return set()


def _key(server: ServerConfig) -> str:
    if server.sheet is not None:
        return server.sheet.digest()
    parts = (os.path.realpath(server.source), server.name, server.fingerprint())
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _keys_in(content: bytes | None) -> set[str]:
    """Return the digests in a store; none when it holds anything else."""
    try:
        stored = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        return set()
    if not isinstance(stored, Mapping) or stored.get("version") != _VERSION:
        return set()
    keys = stored.get("approved")
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        return set()
    return set(keys)
