"""Every exception of the library, in one tree.

::

    McpError
    ├── UsageError                 ours: the caller asked for something that cannot be done
    │   ├── ClientClosed             the client was closed, or closed while the call waited
    │   ├── CallRefused              a hook, a filter or a pin refused a request
    │   ├── HandlerFailed            a handler did not answer a request of the server
    │   ├── SandboxUnavailable       the system cannot confine a server as was asked
    │   ├── ServerUnavailable        a manager has the server, and does not connect it
    │   └── NotRecorded              a replay got a request that is not in its recording
    ├── NotChecked                 undecided: a check took too long
    ├── ServerError                theirs: the server answered, but not with a result
    │   ├── PeerError                a JSON-RPC error object
    │   │   └── UrlElicitationRequired   someone has to visit a URL before the call can be made
    │   ├── ToolError                a tool's own failure, when ``raise_on_error`` asked for it
    │   ├── ResultMismatch           a result is not of the type that ``returns`` asked for
    │   ├── TaskFailed               a task ended without giving its result
    │   ├── ProtocolViolation        bytes or messages that break the protocol
    │   │   ├── MessageTooLarge        a message over ``max_message_size``
    │   │   ├── NotOffered             the server used a capability the client has not declared
    │   │   ├── SchemaError            a JSON Schema that cannot be used
    │   │   ├── SkillVerificationError a skill that is not what its entry says
    │   │   └── TemplateError          a URI template that is malformed
    │   └── HttpError                an HTTP status that is not a success
    │       └── SessionExpired         404 for a session the server had issued
    ├── NetworkError               the network's or the operating system's
    │   ├── ConnectFailed            no connection was ever established
    │   │   ├── CommandNotFound        the server's command does not exist or may not be run
    │   │   └── ServersFailed          servers that a manager requires are not connected
    │   ├── ConnectionLost           an established connection ended
    │   │   └── ProcessExited          the server process ended
    │   └── CallTimeout              no answer in time; the server was told to stop
    └── AuthError                  authorization
        ├── AuthorizationRequired    a human has to visit a URL first
        ├── AuthorizationDenied      the user, or the authorization server, said no
        ├── RegistrationRequired     no way to become a client the authorization server knows
        ├── TokenRequestFailed       the token endpoint refused
        ├── InsufficientScope        more authorization would not help
        └── SsrfError                a URL named by a server points where it must not

A class with several reasons has a ``kind``, a string of its enumeration: hints, ``doctor`` and exit
codes look at that, and never at the words of a message.

Every exception keeps its facts in fields and builds its text from them, so a program never has to
parse a message. A refused call (`ServerError`) leaves the connection usable.
"""

from __future__ import annotations

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
    AuthorizationDenied,
    AuthorizationRequired,
    CallRefused,
    ClientClosed,
    HandlerFailed,
    InsufficientScope,
    McpError,
    NotChecked,
    NotRecorded,
    RegistrationRequired,
    SandboxUnavailable,
    ServerUnavailable,
    SsrfError,
    TokenRequestFailed,
    UsageError,
)
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
