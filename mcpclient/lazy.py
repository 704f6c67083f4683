"""Modules that are imported on first use, since most programs never need them.

``from ..lazy import redaction`` gets a stand-in for the module, which its first use imports. The
modules are named twice here: for readers and type checkers, and for the interpreter.
"""

from __future__ import annotations

from importlib import import_module

_OWN = __name__.rpartition(".")[0]

TYPE_CHECKING = False  # typing takes 8 ms
if TYPE_CHECKING:
    import calendar as calendar
    import copy as copy
    import fcntl as fcntl  # Windows has neither this nor termios
    import pathlib as pathlib
    import queue as queue
    import shlex as shlex
    import shutil as shutil
    import ssl as ssl  # some Pythons are built without it, and do HTTP
    import tempfile as tempfile
    import termios as termios
    import zipfile as zipfile
    import zlib as zlib
    from types import ModuleType
    from urllib import parse as parse

    from . import hints as hints
    from . import suggestions as suggestions
    from . import sync as sync
    from .adapters import limits as limits
    from .adapters import openai_chat as openai_chat
    from .adapters import toolbox as toolbox
    from .cli import asking as asking
    from .cli import auth as auth
    from .cli import configured as _configured
    from .cli import features as features
    from .client import configured as configured
    from .client import feed as feed
    from .client import tasks as tasks
    from .client import typed_results as typed_results
    from .client.answers import answerers as answerers
    from .client.connection import applications as applications
    from .client.connection import caps as caps
    from .client.connection import client_options as client_options
    from .client.connection import url_routes as url_routes
    from .client.events import around as around
    from .client.events import audit as audit
    from .code import toolset as toolset
    from .entries.bundles import manifest as manifest
    from .formats import pick as pick
    from .formats import uri_template as uri_template
    from .framing import browser_url as browser_url
    from .framing import escaping as escaping
    from .framing import headers as headers
    from .framing import uri as uri
    from .gate import load as load
    from .jsonrpc import response_id as response_id
    from .manager import manager as manager
    from .net import chained_log as chained_log
    from .net import files as files
    from .net import negotiate as negotiate
    from .net import proxies as proxies
    from .net import session_sockets as session_sockets
    from .net.login import authentication as authentication
    from .net.login import storage as storage
    from .net.process import programs as programs
    from .net.process import stderr as stderr
    from .protocol import listen as listen
    from .protocol import schema as schema
    from .protocol import skills as skills
    from .recording import redaction as redaction
    from .recording import secret_arguments as secret_arguments
    from .recording import secrets as secrets
    from .recording import transcript as transcript
    from .sandbox import confine as confine
    from .sandbox import rights as rights
    from .transports import legacy_sse as legacy_sse
    from .transports import line_socket as line_socket
    from .transports import stdio as stdio
    from .transports import websocket as websocket

    cli_configured = _configured  # another one than that of clients

# The modules by their packages.
_MODULES = {
    "stdlib": "calendar copy fcntl pathlib queue shlex shutil ssl tempfile termios zipfile zlib",
    ".": "hints suggestions sync",
    ".adapters": "limits openai_chat toolbox",
    ".cli": "asking auth features",
    ".client": "configured feed tasks typed_results",
    ".client.answers": "answerers",
    ".client.connection": "applications caps client_options url_routes",
    ".client.events": "around audit",
    ".code": "toolset",
    ".entries.bundles": "manifest",
    ".formats": "pick uri_template",
    ".framing": "browser_url escaping headers uri",
    ".gate": "load",
    ".jsonrpc": "response_id",
    ".manager": "manager",
    ".net": "chained_log files negotiate proxies session_sockets",
    ".net.login": "authentication storage",
    ".net.process": "programs stderr",
    ".protocol": "listen schema skills",
    ".recording": "redaction secret_arguments secrets transcript",
    ".sandbox": "confine rights",
    ".transports": "legacy_sse line_socket stdio websocket",
    "urllib": "parse",
}
ON_DEMAND = {
    name: f"{package.rstrip('.')}.{name}".removeprefix("stdlib.")
    for package, names in _MODULES.items()
    for name in names.split()
}
ON_DEMAND["cli_configured"] = ".cli.configured"
"""The modules, by the names that they have here."""


class OnDemand:
    """A stand-in for the module ``name``, which its first use imports."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, attribute: str) -> object:
        if self._module is None:  # asking the import system costs four microseconds
            self._module = import_part(self._name, _OWN)
        return getattr(self._module, attribute)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in ON_DEMAND:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = globals()[name] = OnDemand(ON_DEMAND[name])
        return module


def import_part(name: str, package: str | None) -> ModuleType:
    """Import a module; raise `UsageError` if a vendored copy was made without it."""
    try:
        return import_module(name, package)
    except ModuleNotFoundError as error:
        parts = import_module(".vendoring.parts", _OWN)
        missing: Exception | None = parts.missing_part(error, _OWN)
        if missing is None:
            raise
        raise missing from error
