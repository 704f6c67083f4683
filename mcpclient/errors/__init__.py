"""Every exception of the library, in one tree: `help` draws it.

Below `McpError` there are four branches. `UsageError`: the caller asked for something that cannot
be done. `ServerError`: the server answered, but not with a result. `NetworkError`: no answer came.
`AuthError`: authorization did not succeed.

A class with several reasons has a ``kind``, a string of its enumeration: hints, ``doctor`` and exit
codes look at that, and never at the words of a message.

Every exception keeps its facts in fields and builds its text from them, so a program never has to
parse a message. A refused call (`ServerError`) leaves the connection usable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .network import (
    CallTimeout,
    CommandNotFound,
    ConnectFailed,
    ConnectionLost,
    NetworkError,
    ProcessExited,
    ServersFailed,
)
from .network import ConnectKind as ConnectKind
from .network import LossKind as LossKind
from .network import lacks_stdin as lacks_stdin
from .root import (
    AuthError,
    CallRefused,
    ClientClosed,
    HandlerFailed,
    McpError,
    NotChecked,
    NotRecorded,
    SandboxUnavailable,
    ServerUnavailable,
    UsageError,
)
from .root import built_without as built_without
from .root import safe_repr as safe_repr
from .root import safe_str as safe_str
from .server import (
    HttpError,
    MessageTooLarge,
    NotOffered,
    PeerError,
    ProtocolViolation,
    ResultMismatch,
    SchemaError,
    ServerError,
    SessionExpired,
    SkillVerificationError,
    TaskFailed,
    TemplateError,
    ToolError,
    UrlElicitationRequired,
)
from .server import ViolationKind as ViolationKind
from .server import negotiated_scheme as negotiated_scheme

if TYPE_CHECKING:
    from .authorization import (
        AuthorizationDenied,
        AuthorizationRequired,
        InsufficientScope,
        RegistrationRequired,
        SsrfError,
        TokenRequestFailed,
    )

__all__ = [
    "AuthError",
    "AuthorizationDenied",
    "AuthorizationRequired",
    "CallRefused",
    "CallTimeout",
    "ClientClosed",
    "CommandNotFound",
    "ConnectFailed",
    "ConnectionLost",
    "HandlerFailed",
    "HttpError",
    "InsufficientScope",
    "McpError",
    "MessageTooLarge",
    "NetworkError",
    "NotChecked",
    "NotOffered",
    "NotRecorded",
    "PeerError",
    "ProcessExited",
    "ProtocolViolation",
    "RegistrationRequired",
    "ResultMismatch",
    "SandboxUnavailable",
    "SchemaError",
    "ServerError",
    "ServerUnavailable",
    "ServersFailed",
    "SessionExpired",
    "SkillVerificationError",
    "SsrfError",
    "TaskFailed",
    "TemplateError",
    "TokenRequestFailed",
    "ToolError",
    "UrlElicitationRequired",
    "UsageError",
]


def __getattr__(name: str) -> Any:
    # Errors of logins are imported at their first use: few programs meet them.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import authorization

    return getattr(authorization, name)


def kind_named(name: str) -> type[McpError] | None:
    """Return the exception that has a name; None where there is none."""
    if name not in __all__:
        return None
    kind: type[McpError] = globals().get(name) or __getattr__(name)
    return kind


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
