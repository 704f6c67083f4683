"""The blocking classes for type checkers. Written by tests/tools/sync_stub.py."""

from __future__ import annotations

import concurrent.futures
import os
from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from typing import Any, Callable, Literal

from ..adapters.agent_tools import AgentOutcome
from ..adapters.definitions import ToolDefinitions
from ..adapters.model_api import Provider
from ..adapters.toolbox import ToolboxOptions
from ..auth.options import OAuth, OAuthOptions
from ..client.answers.answerers import RootsOption
from ..client.client import Client as AsyncClient
from ..client.connection.client_options import (
    ResultT,
    SharedCallOptions,
    SharedClientOptions,
    SharedQueryOptions,
)
from ..client.connection.limits import Seconds
from ..client.connection.reconnection import Status
from ..client.connection.targets import Target
from ..client.contents import Reference
from ..client.events.around import Around, Call
from ..client.requests import ProgressHandler
from ..client.tool_calls import ToolOutcome
from ..config.config import Config, Problem, ServerConfig
from ..config.policy.policy import Policy
from ..entries.fields import Naming
from ..entries.variables import InputsOption
from ..errors import McpError
from ..formats.uri_template import TemplateValue
from ..gate.gate import Approvals
from ..manager.calls import ManagedPrompt, ManagedResource, ManagedResourceTemplate
from ..manager.events import ManagerEvent
from ..manager.fleet import Changes
from ..manager.manager import Manager as AsyncManager
from ..manager.manager import Servers
from ..manager.pins import Mismatch, Pins
from ..manager.tools import ManagedTool, ToolList
from ..net.recorder import TraceTarget
from ..protocol.listen import ListenEvent, ListenFilter
from ..protocol.skills import LoadedSkill, Skill
from ..protocol.tasks import Task
from ..protocol.types import (
    CallToolResult,
    Completion,
    GetPromptResult,
    Implementation,
    Prompt,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    Tool,
)
from ..sync.handlers import BlockingAround
from ..typing_compat import Unpack

__all__: list[str]

class _ClientOptions(SharedClientOptions, total=False):
    around: Sequence[Around | BlockingAround]

class _CallOptions(SharedCallOptions, total=False):
    around: Sequence[Around | BlockingAround]

class _QueryOptions(SharedQueryOptions, total=False):
    around: Sequence[Around | BlockingAround]

class _Shared:
    def toolbox(self, provider: str | Provider, **options: Unpack[ToolboxOptions]) -> Toolbox: ...
    def submit(
        self, method: str, *arguments: Any, **options: Any
    ) -> concurrent.futures.Future[Any]: ...
    def close(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...
    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        returns: type[ResultT] | None = None,
        **options: Unpack[_CallOptions],
    ) -> ResultT: ...
    def call_tools(
        self, calls: Iterable[tuple[str, Mapping[str, Any] | None]], **options: Unpack[_CallOptions]
    ) -> list[ToolOutcome]: ...

class AgentTool:
    tool: Tool

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> dict[str, Any]: ...
    @property
    def definition(self) -> dict[str, Any]: ...
    def outcome(
        self,
        arguments: Mapping[str, Any] | str | None,
        context: object = None,
        *,
        validate_output: bool = False,
        **call_options: Any,
    ) -> AgentOutcome: ...
    def execute(
        self,
        arguments: Mapping[str, Any] | str | None,
        context: object = None,
        *,
        media: bool = False,
        validate_output: bool = False,
        **call_options: Any,
    ) -> str | list[dict[str, Any]]: ...
    def call(self, /, **arguments: Any) -> str: ...
    def execute_sync(
        self, arguments: Mapping[str, Any] | str | None, context: object = None, **options: Any
    ) -> str | list[dict[str, Any]]: ...

class Client(_Shared):
    def set_roots(self, roots: RootsOption) -> None: ...
    @property
    def async_client(self) -> AsyncClient: ...
    def __init__(
        self,
        target: Target,
        *,
        after_fork: Literal["refuse", "reconnect"] = "refuse",
        **given: Unpack[_ClientOptions],
    ) -> None: ...
    def connect(self) -> Client: ...
    def __enter__(self) -> Client: ...
    @property
    def is_connected(self) -> bool: ...
    @property
    def target(self) -> str: ...
    @property
    def server_info(self) -> Implementation: ...
    @property
    def capabilities(self) -> dict[str, Any]: ...
    @property
    def extensions(self) -> dict[str, dict[str, Any]]: ...
    @property
    def instructions(self) -> str | None: ...
    @property
    def protocol_version(self) -> str | None: ...
    @property
    def transport_name(self) -> str: ...
    def ping(self, *, timeout: Seconds = ...) -> None: ...
    def trace_to(self, target: TraceTarget) -> Callable[[], None]: ...
    def set_log_level(self, level: str) -> None: ...
    def call_tool_task(
        self,
        tool: str | Tool,
        arguments: Mapping[str, Any] | None = None,
        *,
        ttl: float | None = None,
        timeout: Seconds = ...,
        max_timeout: Seconds = ...,
        on_progress: ProgressHandler | None = None,
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        around: Sequence[Around | BlockingAround] = ...,
    ) -> Task: ...
    def get_task(self, task: Task | str, **options: Unpack[_QueryOptions]) -> Task: ...
    def list_tasks(self, **options: Unpack[_QueryOptions]) -> list[Task]: ...
    def await_task(
        self,
        task: Task | str,
        *,
        on_status: Callable[[Task], Any] | None = None,
        timeout: Seconds = ...,
        max_timeout: Seconds = ...,
        headers: Mapping[str, str] | None = None,
    ) -> CallToolResult: ...
    def cancel_task(self, task: Task | str, **options: Unpack[_QueryOptions]) -> None: ...
    def list_resources(self, **options: Unpack[_QueryOptions]) -> list[Resource]: ...
    def list_resource_templates(
        self, **options: Unpack[_QueryOptions]
    ) -> list[ResourceTemplate]: ...
    def read_resource(
        self,
        uri: str | ResourceTemplate,
        variables: Mapping[str, TemplateValue] | None = None,
        **options: Unpack[_QueryOptions],
    ) -> ReadResourceResult: ...
    def list_prompts(self, **options: Unpack[_QueryOptions]) -> list[Prompt]: ...
    def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        **options: Unpack[_QueryOptions],
    ) -> GetPromptResult: ...
    def complete(
        self,
        reference: Reference,
        argument: str,
        value: str,
        *,
        context: Mapping[str, str] | None = None,
        **options: Unpack[_QueryOptions],
    ) -> Completion: ...
    def list_skills(self, **options: Unpack[_QueryOptions]) -> list[Skill]: ...
    def get_skill(self, uri: str, **options: Unpack[_QueryOptions]) -> Skill: ...
    def read_skill(self, skill: Skill | str, **options: Unpack[_QueryOptions]) -> LoadedSkill: ...
    def read_skill_file(
        self, skill: Skill | LoadedSkill, path: str, **options: Unpack[_QueryOptions]
    ) -> ReadResourceResult: ...
    def read_directory(self, uri: str, **options: Unpack[_QueryOptions]) -> list[Resource]: ...
    def listen(
        self,
        *,
        tools: bool = False,
        prompts: bool = False,
        resources: bool = False,
        uris: Iterable[str] = ...,
        tasks: Iterable[str] = ...,
    ) -> Subscription: ...
    def subscribe_resource(self, uri: str) -> None: ...
    def unsubscribe_resource(self, uri: str) -> None: ...
    @property
    def tools_are_stale(self) -> bool: ...
    def list_tools(self, **options: Unpack[_QueryOptions]) -> list[Tool]: ...
    def request(
        self, method: str, params: Mapping[str, Any] | None = None, **options: Unpack[_QueryOptions]
    ) -> dict[str, Any]: ...
    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None: ...

class EventStream:
    def __next__(self) -> ManagerEvent: ...
    def __iter__(self) -> EventStream: ...

class Manager(_Shared):
    @property
    def async_manager(self) -> AsyncManager: ...
    @property
    def servers(self) -> Mapping[str, Server]: ...
    def __init__(
        self,
        servers: Servers | None = None,
        *,
        naming: Naming = "server__tool",
        name_limit: int = 64,
        required: Collection[str] | bool = ...,
        wait: Literal["all", "none"] | float = "all",
        lazy: bool = False,
        memory: str | os.PathLike[str] | None = None,
        pins: Pins | None = None,
        policy: Policy | None = None,
        approvals: Approvals | None = None,
        inputs: InputsOption = None,
        auto_refresh: bool = True,
        on_event: Callable[[ManagerEvent], Any] | None = None,
        after_fork: Literal["refuse", "reconnect"] = "refuse",
        **client_options: Unpack[_ClientOptions],
    ) -> None: ...
    def open(self) -> Manager: ...
    def __enter__(self) -> Manager: ...
    @property
    def tools(self) -> ToolList: ...
    @property
    def problems(self) -> list[Problem]: ...
    def __getitem__(self, name: str) -> Client: ...
    def events(self) -> EventStream: ...
    def instructions(self) -> str: ...
    def search_tools(self, query: str, *, limit: int = 5) -> list[ManagedTool]: ...
    def add(self, name: str, server: Target | ServerConfig) -> Server: ...
    def connect(self, name: str) -> Server: ...
    def disconnect(self, name: str) -> None: ...
    def remove(self, name: str) -> None: ...
    def reload(self, config: Config | None = None) -> Changes: ...
    def lock(self, pins: Pins) -> None: ...
    def list_resources(self) -> list[ManagedResource]: ...
    def list_resource_templates(self) -> list[ManagedResourceTemplate]: ...
    def list_prompts(self) -> list[ManagedPrompt]: ...
    def read_resource(
        self, uri: str, *, server: str | None = None, **options: Unpack[_QueryOptions]
    ) -> ReadResourceResult: ...
    def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        server: str | None = None,
        **options: Unpack[_QueryOptions],
    ) -> GetPromptResult: ...

class Server:
    name: str
    config: ServerConfig
    status: Status
    error: Exception | None
    since: float
    next_try: float | None
    stale: bool
    mismatches: tuple[Mismatch, ...]

    @property
    def client(self) -> Client: ...
    def connect(self) -> None: ...
    def disconnect(self) -> None: ...
    @property
    def trusted(self) -> bool: ...
    @property
    def tools(self) -> ToolList: ...
    @property
    def instructions(self) -> str: ...
    @property
    def is_connected(self) -> bool: ...
    @property
    def loss(self) -> McpError | None: ...

class Subscription:
    @property
    def acknowledged(self) -> ListenFilter | None: ...
    @property
    def refused(self) -> ListenFilter: ...
    def open(self) -> Subscription: ...
    def close(self) -> None: ...
    def __enter__(self) -> Subscription: ...
    def __exit__(self, *error: object) -> None: ...
    def __iter__(self) -> Subscription: ...
    def __next__(self) -> ListenEvent: ...

class Toolbox:
    def __init__(
        self, source: Client | Manager, provider: str | Provider, **options: Unpack[ToolboxOptions]
    ) -> None: ...
    @property
    def agent_tools(self) -> list[AgentTool]: ...
    @property
    def tools(self) -> ToolDefinitions: ...
    def refresh(self) -> None: ...
    def run(self, response: object, **call_options: Any) -> list[dict[str, Any]]: ...
    def close(self) -> None: ...

def ask_unless_read_only(ask: Callable[[Call], bool | str | Awaitable[bool | str]]) -> Around: ...
def call(
    target: Target,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    raise_on_error: bool = False,
    returns: type[ResultT] | None = None,
    **options: Unpack[_ClientOptions],
) -> ResultT: ...

connect: type[Client]
connect_all: type[Manager]

def finish_auth(
    server_url: str,
    code: str,
    state: str | None = None,
    *,
    iss: str | None = None,
    auth: OAuth | None = None,
) -> None: ...
def list_tools(target: Target, **options: Unpack[_ClientOptions]) -> list[Tool]: ...
def log_in(
    server_url: str, auth: OAuth | None = None, *, trace: TraceTarget | None = None
) -> None: ...
def log_out(server_url: str, auth: OAuthOptions | None = None) -> None: ...
