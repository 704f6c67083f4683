"""The check of options, the same for all that takes them: F-API-1, F-API-26."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable

import pytest

import mcpclient
from mcpclient import Limits, ServerLimits, UsageError, sync
from mcpclient.adapters.toolbox import ToolboxOptions
from mcpclient.client.connection.option_kinds import CLIENT_OPTIONS, FLAG, NUMBER
from mcpclient.sandbox.rights import Sandbox
from tests.manager.fleet import Member

URL, COMMAND = "http://127.0.0.1:1/mcp", ["true"]

MISTAKES: list[tuple[str, Any, str]] = [
    ("timout", 3, "there is no option 'timout'; did you mean 'timeout'"),
    ("limits", Limits(), "limits must be a ServerLimits, not an object of the class Limits"),
    ("limits", {"at_once": 3}, "limits must be a ServerLimits, not a mapping"),
    ("timeout", "3", "timeout must be a number of seconds, 0 or more, not a string"),
    ("max_timeout", -1, "max_timeout must be a number of seconds, 0 or more, not -1"),
    ("close_timeout", None, "close_timeout must be a number, 0 or more, not None"),
    ("keep_alive", True, "keep_alive must be a number, 0 or more, not True"),
    ("liveness", float("nan"), "liveness must be a number, 0 or more, not nan"),
    ("trusted", "false", "trusted must be True or False, not a string"),
    ("verify", "ca.pem", "verify must be True or False"),
    ("on_log", lambda: None, "on_log must be a function of one argument"),
    ("on_notification", lambda method: None, "on_notification must be a function of method"),
    ("around", lambda call, proceed: None, "around must be a list of functions"),
    ("around", "x", "around must be a list of functions, not a string"),
    ("env", {"A": 1}, "env must be a mapping of strings to strings"),
    ("env", "SECRET=1", "env must be a mapping of strings to strings, not a string"),
    ("headers", "Authorization: secret", "headers must be a mapping, a function or a HeadersFrom"),
    ("inherit_env", "some", 'inherit_env must be "safe", "all" or "none", not a string'),
    ("sandbox", True, 'sandbox must be a Sandbox or "required", not True'),
    ("max_message_size", 0, "max_message_size must be a whole number, 1 or more, not 0"),
    ("extensions", ["x"], "extensions must be a mapping, not a list"),
    ("hooks", b"x", "hooks must be a Hooks, not bytes"),
]
OF_A_MANAGER: list[tuple[str, Any, str]] = [
    ("requird", True, "there is no option 'requird'; did you mean 'required'"),
    ("required", "a", "required must be True, False or a list of names, not a string"),
    ("wait", "some", 'wait must be "all", "none" or a number of seconds, not a string'),
    ("pins", "mcp.lock", "pins must be a Pins, not a string"),
    ("approvals", lambda server: True, "approvals must be an Approvals"),
    ("reconnect", False, "reconnect must be a Reconnect, not False"),
    ("on_event", 3, "on_event must be a function of a ManagerEvent, not 3"),
    ("name_limit", "64", "name_limit must be a whole number, 1 or more, not a string"),
]
OF_A_TOOLBOX: list[tuple[str, Any, str]] = [
    ("aprove", None, "there is no option 'aprove'; did you mean 'approve'"),
    ("approve", lambda call: True, "approve must be a function of two arguments, the call and its"),
    ("limits", ServerLimits(), "limits must be a Limits, not an object of the class ServerLimits"),
    ("limits", {"max_chars": 3}, "limits must be a Limits, not a mapping"),
    ("code", True, "code must be a CodeMode, not True"),
    ("context", "x", "context must be a whole number, 1 or more, not a string"),
    ("search", None, "search must be True, False, a number of tools or a share"),
    ("include", "*", "include must be a list of patterns, not a string"),
    ("exclude", [1], "exclude must be a list of patterns, not a list"),
    ("functions", len, "functions must be a list of functions"),
    ("defer", lambda: True, "defer must be True, False or a function of a tool"),
]


def refused(make: Callable[..., Any], mistakes: list[tuple[str, Any, str]]) -> None:
    for name, value, reason in mistakes:
        with pytest.raises(UsageError) as caught:
            make(**{name: value})
        assert str(caught.value).startswith(reason), name
        assert "secret" not in str(caught.value).lower()


def test_mistakes_are_told_at_once() -> None:
    """F-API-1, F-API-6, F-MANY-1: by clients and managers, before anything is opened."""
    makers: Any = (mcpclient.Client, sync.Client, mcpclient.connect_all, sync.Manager)
    for make in makers:
        target: Any = COMMAND if "lient" in make.__name__ else {"a": COMMAND}
        refused(partial(make, target), MISTAKES)
    for manager in (mcpclient.connect_all, sync.Manager):
        refused(partial(manager, {"a": COMMAND}), OF_A_MANAGER)


async def test_mistakes_with_a_toolbox_are_told_at_once() -> None:
    """F-TOOL-7"""
    sources: Any = mcpclient.connect(Member("x")), mcpclient.connect_all({"a": Member("x")})
    for source in (*sources, sync.Client(COMMAND)):
        refused(partial(source.toolbox, "google"), OF_A_TOOLBOX)


def test_what_fits() -> None:
    """F-API-1: None stands for "not given", and a number need not be a float."""
    for name, kind in CLIENT_OPTIONS.items():
        if kind.is_optional and name not in ("auth", "proxy", "transport", "validate", "stderr"):
            absent: Any = {name: None}
            mcpclient.Client(URL, **absent)
    sandboxed = mcpclient.Client(COMMAND, sandbox=Sandbox(), timeout=3, around=[], on_log=print)
    assert not sandboxed.is_connected
    assert FLAG.fits(False)
    assert not FLAG.fits(0)
    assert NUMBER.fits(0)
    assert set(ToolboxOptions.__annotations__) >= {name for name, _, _ in OF_A_TOOLBOX[1:]}
