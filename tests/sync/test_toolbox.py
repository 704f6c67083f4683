"""F-TOOL-1, F-API-18: the tools of a blocking client, for a model."""

from __future__ import annotations

import threading

import pytest

import mcpclient
from mcpclient import UsageError
from tests.sync.calling import ToolServer


def test_a_toolbox_is_ready_at_once() -> None:
    """F-TOOL-1, F-API-18: listed already, approved by a function that may block."""
    seen: list[str] = []

    def approve(call: mcpclient.ToolCall, tool: mcpclient.Tool) -> bool:
        seen.append(threading.current_thread().name)
        return True

    call = {"id": "1", "type": "function", "function": {"name": "echo", "arguments": "{}"}}
    server = ToolServer(echo=lambda arguments: "said")
    with server.connected() as client:
        box = client.toolbox("openai_chat", approve=approve)
        assert [each["function"]["name"] for each in box.tools] == ["echo", "never"]
        (answer,) = box.run({"choices": [{"message": {"tool_calls": [call]}}]})
        assert answer["content"] == "said" and seen == ["mcpclient-handler"]
        tool = box.agent_tools[0]
        assert tool.name == "echo" == tool.tool.name and tool.execute({}) == "said"
        with pytest.raises(UsageError):
            client.toolbox("openai_chat", exclude="echo")


def test_functions_and_agent_tools() -> None:
    """F-TOOL-9: a function may block, and call the client; `execute_sync` is there as well."""
    threads: list[threading.Thread] = []

    def shout(word: str) -> str:
        threads.append(threading.current_thread())
        return str(client.call_tool("echo", {"word": word}).text).upper()

    server = ToolServer(echo=lambda arguments: f"said {arguments['word']}")
    with server.connected() as client:
        box = client.toolbox("openai_chat", functions=[shout])
        echo, _, own = box.agent_tools
        assert own.execute({"word": "a"}) == own.call(word="a") == "SAID A"
        assert echo.execute_sync({"word": "b"}) == "said b"
        outcome = echo.outcome({"word": "c"})
        assert (outcome.text, outcome.is_error, outcome.structured) == ("said c", False, None)
    assert threading.main_thread() not in threads
