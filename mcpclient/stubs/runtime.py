"""The base classes of stubs: a client, and methods that call it by the server's names."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from ..client.client import Client
from ..errors import UsageError
from ..lazy import OnDemand
from ..protocol.types import (
    CallToolResult,
    GetPromptResult,
    ReadResourceResult,
    ResourceTemplate,
    Tool,
)
from ..suggestions import there_is_no

if TYPE_CHECKING:
    from .. import sync
    from ..gate import load as loading
    from ..manager import manager
else:
    sync = OnDemand("..sync", __name__)
    loading = OnDemand("..gate.load", __name__)
    manager = OnDemand("..manager.manager", __name__)

B = TypeVar("B", bound="Stub")
A = TypeVar("A", bound="AsyncStub")

Check = Literal["warn", "refuse", "ignore"]
"""The reaction to a server whose tools are not those that a stub was made from."""


class Unset:
    """The value of an argument that is not given, and so not sent."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset()


def digest_of(tools: Sequence[Tool]) -> str:
    """Return a digest of the tools' names, descriptions and schemas."""
    wanted = ("name", "description", "inputSchema", "outputSchema")
    offer = sorted(
        json.dumps({key: tool.raw.get(key) for key in wanted}, sort_keys=True) for tool in tools
    )
    return hashlib.sha256("\n".join(offer).encode()).hexdigest()


class _Made:
    """The server that a stub was made from."""

    TARGET: ClassVar[str | Sequence[str] | None] = None
    """The URL or the command of the server."""
    CONFIGURED: ClassVar[str | None] = None
    """The name of the server in configuration files, if it has one."""
    DIGEST: ClassVar[str] = ""

    @classmethod
    def _check(cls, tools: Sequence[Tool], check: Check) -> None:
        if check == "ignore" or digest_of(tools) == cls.DIGEST:
            return
        text = f"{cls.__name__} was made from other tools than the server has now"
        if check == "refuse":
            raise UsageError(text).advise("Look at the changes: mcpclient stubs … --check")
        warnings.warn(f"{text}; see mcpclient stubs … --check", stacklevel=4)

    @classmethod
    def _target(cls, given: Any) -> Any:
        return cls.TARGET if given is None else given

    @classmethod
    def _configured(cls) -> Any:
        config, name = loading.load_config(), cls.CONFIGURED
        if name not in config.servers:
            raise UsageError(there_is_no("server", name or "", config.servers, "configured"))
        return replace(config, servers={name: config.servers[name]}, load_again=None)


class Stub(_Made):
    """A server whose tools are methods that wait for the answer; the base of generated classes.

    ``client``: the connected client, which the caller closes unless `connect` has made it.
    """

    def __init__(self, client: sync.Client) -> None:
        self.client = client
        self._owner: Any = client

    @classmethod
    def connect(cls: type[B], target: Any = None, *, check: Check = "warn", **options: Any) -> B:
        """Connect to the server, by default to the one that the class was made from.

        ``options`` are those of `mcpclient.sync.connect`. ``check``: the reaction to tools that
        have changed since. Raises as connecting does, and `UsageError` with ``"refuse"``.
        """
        if target is None and cls.CONFIGURED is not None:
            owner = sync.connect_all(cls._configured(), required=True, **options)
            stub = cls(owner[cls.CONFIGURED])
            stub._owner = owner
        else:
            stub = cls(sync.connect(cls._target(target), **options))
        try:
            stub._check(stub.client.list_tools(), check)
        except BaseException:
            stub.close()
            raise
        return stub

    def close(self) -> None:
        """Close the connection."""
        self._owner.close()

    def __enter__(self: B) -> B:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        return self.client.call_tool(name, _given(arguments), raise_on_error=True)

    def _data(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return self._call(name, arguments).data

    def _prompt(self, name: str, arguments: Mapping[str, Any]) -> GetPromptResult:
        return self.client.get_prompt(name, _given(arguments))

    def _read(self, template: str, variables: Mapping[str, Any]) -> ReadResourceResult:
        return self.client.read_resource(_template(template), _given(variables))


class AsyncStub(_Made):
    """A server whose tools are coroutines; the base of generated classes. See `Stub`."""

    def __init__(self, client: Client) -> None:
        self.client: Client = client
        self._owner: Any = client

    @classmethod
    def connect(cls: type[A], target: Any = None, *, check: Check = "warn", **options: Any) -> A:
        """Return the server for ``async with``; the arguments are those of `Stub.connect`."""
        stub = cls.__new__(cls)
        if target is None and cls.CONFIGURED is not None:
            stub._owner = manager.Manager(cls._configured(), required=True, **options)
        else:
            stub._owner = Client(cls._target(target), **options)
        stub._wanted = check
        return stub

    _wanted: Check = "ignore"

    async def close(self) -> None:
        """Close the connection."""
        await self._owner.close()

    async def __aenter__(self: A) -> A:
        opened = await self._owner.__aenter__()
        try:
            self.client = opened if isinstance(opened, Client) else opened[self.CONFIGURED]
            self._check(await self.client.list_tools(), self._wanted)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        return await self.client.call_tool(name, _given(arguments), raise_on_error=True)

    async def _data(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return (await self._call(name, arguments)).data

    async def _prompt(self, name: str, arguments: Mapping[str, Any]) -> GetPromptResult:
        return await self.client.get_prompt(name, _given(arguments))

    async def _read(self, template: str, variables: Mapping[str, Any]) -> ReadResourceResult:
        return await self.client.read_resource(_template(template), _given(variables))


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not UNSET}


def _template(text: str) -> ResourceTemplate:
    return ResourceTemplate({"uriTemplate": text, "name": text})
