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
