"""mcpclient: a client for the Model Context Protocol, in pure Python, without any dependency.

::

    async with mcpclient.connect("https://example.com/mcp") as client:
        for tool in await client.list_tools():
            print(tool.name, tool.description)
        result = await client.call_tool("echo", {"message": "hi"}, timeout=5, on_progress=print)
        print(result.text)

All public names are in this package; each is imported when it is first used (PEP 562).
"""

from __future__ import annotations

from importlib import import_module

from .version import __version__ as __version__

TYPE_CHECKING = False  # true for type checkers; importing typing costs 5 ms
if TYPE_CHECKING:
    from . import sync as sync
    from . import telemetry as telemetry
    from . import testing as testing
    from .adapters.agent_tools import AgentOutcome as AgentOutcome
    from .adapters.agent_tools import AgentTool as AgentTool
    from .adapters.definitions import ToolCall as ToolCall
    from .adapters.definitions import ToolDefinitions as ToolDefinitions
    from .adapters.definitions import ToolProblem as ToolProblem
    from .adapters.limits import Limits as Limits
    from .adapters.providers import sampling_model as sampling_model
    from .adapters.toolbox import Toolbox as Toolbox
    from .auth.effects import Authorize as Authorize
    from .auth.effects import AuthProvider as AuthProvider
    from .auth.effects import Callback as Callback
    from .auth.effects import CredentialStore as CredentialStore
    from .auth.effects import ShowDeviceCode as ShowDeviceCode
    from .auth.obtaining import parse_callback as parse_callback
    from .auth.options import ApiKey as ApiKey
    from .auth.options import BearerToken as BearerToken
    from .auth.options import ClientCredentials as ClientCredentials
    from .auth.options import Endpoints as Endpoints
    from .auth.options import EnterpriseManaged as EnterpriseManaged
    from .auth.options import IdentityProvider as IdentityProvider
    from .auth.options import OAuth as OAuth
    from .auth.options import WorkloadIdentity as WorkloadIdentity
    from .auth.signing import Es256Key as Es256Key
    from .auth.signing import Signer as Signer
    from .client.answers.answerers import Elicitation as Elicitation
    from .client.answers.answerers import Sampling as Sampling
    from .client.answers.answerers import SamplingModel as SamplingModel
    from .client.answers.answerers import accept_defaults as accept_defaults
    from .client.client import Client as Client
    from .client.client import call as call
    from .client.client import connect as connect
    from .client.client import list_tools as list_tools
    from .client.connection.applications import AsgiApp as AsgiApp
    from .client.connection.client_options import CallOptions as CallOptions
    from .client.connection.client_options import ClientOptions as ClientOptions
    from .client.connection.client_options import QueryOptions as QueryOptions
    from .client.connection.reconnection import Reconnect as Reconnect
    from .client.connection.reconnection import Status as Status
    from .client.contents import Subscription as Subscription
    from .client.events.around import Around as Around
    from .client.events.around import Call as Call
    from .client.events.around import ask_unless_read_only as ask_unless_read_only
    from .client.events.around import refusal as refusal
    from .client.events.audit import AuditLog as AuditLog
    from .client.events.callbacks import Hooks as Hooks
    from .code.toolset import CodeMode as CodeMode
    from .config.config import Config as Config
    from .config.config import Problem as Problem
    from .config.config import ServerConfig as ServerConfig
    from .config.config import Source as Source
    from .config.policy.policy import Policy as Policy
    from .config.policy.policy import Verdict as Verdict
    from .config.policy.rules import CommandRule as CommandRule
    from .config.policy.rules import CwdRule as CwdRule
    from .config.policy.rules import EnvRule as EnvRule
    from .config.policy.rules import NameRule as NameRule
    from .config.policy.rules import UrlRule as UrlRule
    from .config.scopes import FoundConfig as FoundConfig
    from .config.scopes import discover_configs as discover_configs
    from .config.writing import add_server as add_server
    from .config.writing import remove_server as remove_server
    from .entries.server_limits import ServerLimits as ServerLimits
    from .entries.variables import InputSpec as InputSpec
    from .errors import *  # noqa: F403 - all of the tree is public
    from .gate.gate import Approvals as Approvals
    from .gate.load import load_config as load_config
    from .gateway.gateway import bridge as bridge
    from .inspector.inspector import Inspector as Inspector
    from .inspector.inspector import inspect as inspect
    from .jsonrpc.messages import ErrorCode as ErrorCode
    from .manager.calls import ManagedPrompt as ManagedPrompt
    from .manager.calls import ManagedResource as ManagedResource
    from .manager.calls import ManagedResourceTemplate as ManagedResourceTemplate
    from .manager.events import ManagerEvent as ManagerEvent
    from .manager.events import PinMismatch as PinMismatch
    from .manager.events import StatusChanged as StatusChanged
    from .manager.events import ToolsUpdated as ToolsUpdated
    from .manager.fleet import Changes as Changes
    from .manager.manager import Manager as Manager
    from .manager.manager import connect_all as connect_all
    from .manager.naming import parse_tool_name as parse_tool_name
    from .manager.pins import Pins as Pins
    from .manager.server import Server as Server
    from .manager.tools import ManagedTool as ManagedTool
    from .manager.tools import ToolList as ToolList
    from .net.login.authentication import finish_auth as finish_auth
    from .net.login.authentication import log_in as log_in
    from .net.login.authentication import log_out as log_out
    from .net.login.logins import BrowserLogin as BrowserLogin
    from .net.login.logins import TwoStepLogin as TwoStepLogin
    from .net.login.storage import FileStore as FileStore
    from .net.login.storage import KeychainStore as KeychainStore
    from .net.login.storage import MemoryStore as MemoryStore
    from .net.network_options import Negotiate as Negotiate
    from .net.process.programs import HeadersFrom as HeadersFrom
    from .net.process.stopping import StopLadder as StopLadder
    from .protocol.elicitation import ElicitationRequest as ElicitationRequest
    from .protocol.listen import EventsMissed as EventsMissed
    from .protocol.listen import ListenEvent as ListenEvent
    from .protocol.listen import ListenFilter as ListenFilter
    from .protocol.listen import PromptsChanged as PromptsChanged
    from .protocol.listen import ResourcesChanged as ResourcesChanged
    from .protocol.listen import ResourceUpdated as ResourceUpdated
    from .protocol.listen import TaskChanged as TaskChanged
    from .protocol.listen import ToolsChanged as ToolsChanged
    from .protocol.sampling import SamplingMessage as SamplingMessage
    from .protocol.sampling import SamplingRequest as SamplingRequest
    from .protocol.schema import SchemaLimits as SchemaLimits
    from .protocol.skills import LoadedSkill as LoadedSkill
    from .protocol.skills import Skill as Skill
    from .protocol.skills import SkillFile as SkillFile
    from .protocol.tasks import Task as Task
    from .protocol.types import AudioContent as AudioContent
    from .protocol.types import CallToolResult as CallToolResult
    from .protocol.types import Completion as Completion
    from .protocol.types import Content as Content
    from .protocol.types import EmbeddedResource as EmbeddedResource
    from .protocol.types import GetPromptResult as GetPromptResult
    from .protocol.types import ImageContent as ImageContent
    from .protocol.types import Implementation as Implementation
    from .protocol.types import LogMessage as LogMessage
    from .protocol.types import Progress as Progress
    from .protocol.types import Prompt as Prompt
    from .protocol.types import PromptArgument as PromptArgument
    from .protocol.types import PromptMessage as PromptMessage
    from .protocol.types import ReadResourceResult as ReadResourceResult
    from .protocol.types import Resource as Resource
    from .protocol.types import ResourceContents as ResourceContents
    from .protocol.types import ResourceLink as ResourceLink
    from .protocol.types import ResourceTemplate as ResourceTemplate
    from .protocol.types import TextContent as TextContent
    from .protocol.types import Tool as Tool
    from .protocol.types import ToolResultContent as ToolResultContent
    from .protocol.types import ToolUseContent as ToolUseContent
    from .sandbox.rights import Sandbox as Sandbox
    from .transports.base import Abandoned as Abandoned
    from .transports.base import Receiver as Receiver
    from .transports.base import Transport as Transport
    from .transports.base import deliver_text as deliver_text
    from .transports.inprocess import InProcessTransport as InProcessTransport
    from .transports.inprocess import ServerEnd as ServerEnd
    from .transports.inprocess import serve_function as serve_function
    from .transports.legacy_sse import LegacySseTransport as LegacySseTransport
    from .transports.replaying import Recording as Recording
    from .transports.stdio import StdioTransport as StdioTransport
    from .transports.streamable_http import StreamableHttpTransport as StreamableHttpTransport


# The public names of each module, which is imported when one of them is first used.
_MODULES = {
    ".adapters.agent_tools": "AgentOutcome AgentTool",
    ".adapters.definitions": "ToolCall ToolDefinitions ToolProblem",
    ".adapters.limits": "Limits",
    ".adapters.providers": "sampling_model",
    ".adapters.toolbox": "Toolbox",
    ".auth.obtaining": "parse_callback",
    ".auth.effects": "AuthProvider Authorize Callback CredentialStore ShowDeviceCode",
    ".auth.options": (
        "ApiKey BearerToken ClientCredentials Endpoints EnterpriseManaged IdentityProvider OAuth "
        "WorkloadIdentity"
    ),
    ".auth.signing": "Es256Key Signer",
    ".client.answers.answerers": "Elicitation Sampling SamplingModel accept_defaults",
    ".client.client": "Client call connect list_tools",
    ".client.connection.applications": "AsgiApp",
    ".client.connection.client_options": "CallOptions ClientOptions QueryOptions",
    ".client.contents": "Subscription",
    ".client.events.around": "Around Call ask_unless_read_only refusal",
    ".client.events.audit": "AuditLog",
    ".client.events.callbacks": "Hooks",
    ".code.toolset": "CodeMode",
    ".config.config": "Config Problem ServerConfig Source",
    ".config.policy.policy": "Policy Verdict",
    ".config.policy.rules": "CommandRule CwdRule EnvRule NameRule UrlRule",
    ".config.scopes": "FoundConfig discover_configs",
    ".entries.server_limits": "ServerLimits",
    ".entries.variables": "InputSpec",
    ".config.writing": "add_server remove_server",
    ".errors": (
        "AuthError AuthorizationDenied AuthorizationRequired CallRefused CallTimeout "
        "ClientClosed CommandNotFound ConnectFailed ConnectionLost HandlerFailed HttpError "
        "InsufficientScope McpError MessageTooLarge NetworkError NotChecked NotOffered "
        "NotRecorded PeerError ProcessExited ProtocolViolation RegistrationRequired "
        "ResultMismatch SandboxUnavailable SchemaError ServerError ServerUnavailable "
        "ServersFailed SessionExpired SkillVerificationError SsrfError TaskFailed TemplateError "
        "TokenRequestFailed ToolError UrlElicitationRequired UsageError"
    ),
    ".gate.gate": "Approvals",
    ".gate.load": "load_config",
    ".gateway.gateway": "bridge",
    ".inspector.inspector": "Inspector inspect",
    ".jsonrpc.messages": "ErrorCode",
    ".manager.calls": "ManagedPrompt ManagedResource ManagedResourceTemplate",
    ".manager.fleet": "Changes",
    ".client.connection.reconnection": "Reconnect Status",
    ".manager.events": "ManagerEvent PinMismatch StatusChanged ToolsUpdated",
    ".manager.manager": "Manager connect_all",
    ".manager.naming": "parse_tool_name",
    ".manager.pins": "Pins",
    ".manager.server": "Server",
    ".manager.tools": "ManagedTool ToolList",
    ".net.login.authentication": "finish_auth log_in log_out",
    ".net.process.programs": "HeadersFrom",
    ".net.login.logins": "BrowserLogin TwoStepLogin",
    ".net.login.storage": "FileStore KeychainStore MemoryStore",
    ".net.network_options": "Negotiate",
    ".net.process.stopping": "StopLadder",
    ".protocol.elicitation": "ElicitationRequest",
    ".protocol.listen": (
        "EventsMissed ListenEvent ListenFilter PromptsChanged ResourceUpdated ResourcesChanged "
        "TaskChanged ToolsChanged"
    ),
    ".protocol.sampling": "SamplingMessage SamplingRequest",
    ".protocol.schema": "SchemaLimits",
    ".protocol.skills": "LoadedSkill Skill SkillFile",
    ".protocol.tasks": "Task",
    ".protocol.types": (
        "AudioContent CallToolResult Completion Content EmbeddedResource GetPromptResult "
        "ImageContent Implementation LogMessage Progress Prompt PromptArgument PromptMessage "
        "ReadResourceResult Resource ResourceContents ResourceLink ResourceTemplate TextContent "
        "Tool ToolResultContent ToolUseContent"
    ),
    ".sandbox.rights": "Sandbox",
    ".sync": "sync",
    ".telemetry": "telemetry",
    ".testing": "testing",
    ".transports.base": "Abandoned Receiver Transport deliver_text",
    ".transports.inprocess": "InProcessTransport ServerEnd serve_function",
    ".transports.legacy_sse": "LegacySseTransport",
    ".transports.replaying": "Recording",
    ".transports.stdio": "StdioTransport",
    ".transports.streamable_http": "StreamableHttpTransport",
}
_EXPORTS = {name: module for module, names in _MODULES.items() for name in names.split()}

if not TYPE_CHECKING:  # type checkers read the imports above, and report unknown names
    __all__ = sorted({*_EXPORTS, "__version__"})  # noqa: PLE0605 - a list, computed

    def __getattr__(name: str) -> object:
        if name not in _EXPORTS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(_EXPORTS[name], __name__)
        value: object = module if _EXPORTS[name] == f".{name}" else getattr(module, name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
