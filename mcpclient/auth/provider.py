"""What a host application may bring along: its own storage, and its own way to the user."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from .effects import Authorize, Callback, ShowDeviceCode, StoredItem


class CredentialStore(Protocol):
    """Keeps credentials: records that JSON can carry, under keys that contain no secret.

    What is saved must be readable by the same user only.
    """

    async def load(self, key: str) -> StoredItem | None:
        """The record under ``key``, or None."""

    async def save(self, key: str, record: StoredItem | None) -> None:
        """Store ``record`` under ``key``; None removes it. Whole or not at all."""

    def lock(self, name: str) -> AbstractAsyncContextManager[object]:
        """A lock called ``name`` that keeps out every task and process that uses the same store.

        A store that serves one process only has to keep out that process's tasks.
        """
        ...


class AuthProvider(CredentialStore, Protocol):
    """A host's own storage and its own way to lead a user to a URL and back."""

    async def open_redirect(self, configured: str | None, registered: tuple[str, ...]) -> str:
        """The redirect URI that leads back here (see `effects.OpenRedirect`)."""
        ...

    async def authorize(self, request: Authorize) -> Callback | None:
        """Lead the user to ``request.url`` and return what came back.

        Return None when nobody waits for the user: the call in progress then fails with
        AuthorizationRequired, and `flow.Authorization.finish` goes on when the user is back.
        """

    async def show_device_code(self, request: ShowDeviceCode) -> None:
        """Tell the user where to enter which code."""
