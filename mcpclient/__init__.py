"""mcpclient: a client for the Model Context Protocol, in pure Python, without any dependency.

::

    async with mcpclient.connect("https://example.com/mcp") as client:
        for tool in await client.list_tools():
            print(tool.name, tool.description)
        result = await client.call_tool("echo", {"message": "hi"}, timeout=5, on_progress=print)
        print(result.text)

All public names are in this package; each is imported when it is first used (PEP 562). Type
checkers read ``__init__.pyi``, which ``python -m tests.tools.sync_stub`` writes.
"""

from __future__ import annotations

from importlib import import_module

from .version import __version__ as __version__

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
    ".client.events.around": "Around Call ask_unless_read_only refusal",
    ".client.events.audit": "AuditLog",
    ".client.events.callbacks": "Hooks",
    ".client.subscription": "Subscription",
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
