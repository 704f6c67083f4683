"""Commands about a server's features, each against the demo server in this process: F-SHOW-1."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest

from mcpclient import PeerError, UsageError
from mcpclient.cli.screen import Screen
from tests.cli.in_process import Terminal, ask

# info


def test_it_says_who_and_what() -> None:
    """F-SHOW-2: the raw form is the server's own declaration."""
    answer = ask("info")
    assert answer.text.splitlines() == [
        "server        Demo server (demo-server 1.0.0)",
        "revision      2025-11-25",
        "transport     in-process",
        "capabilities  completions, prompts, resources, tools",
        "",
        "Call echo, add, count or fail. Nothing here does any harm.",
    ]
    assert answer.raw["serverInfo"]["name"] == "demo-server"
    abilities = ("tools", "resources", "prompts", "completions")
    assert answer.raw["capabilities"] == {name: {} for name in abilities}
    assert answer.raw["transport"] == "in-process"
    assert answer.raw["instructions"].startswith("Call echo")
    assert ask("info", revision="2026-07-28").raw["protocolVersion"] == "2026-07-28"


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_it_says_how_long_the_answer_took(revision: str) -> None:
    answer = ask("ping", revision=revision)
    assert re.fullmatch(r"answered in \d+\.\d ms", answer.text)
    assert answer.raw["milliseconds"] >= 0


@pytest.mark.parametrize(
    ("nameless", "said"), [([{}], "1 tool"), ([{"name": []}, {"name": 5}], "2 tools")]
)
def test_a_tool_without_a_name_is_no_row(nameless: list[object], said: str) -> None:
    """F-SHOW-1: it cannot be called, so it is reported apart from the others."""
    errors = io.StringIO()
    tools = [*nameless, {"name": "echo"}]
    answer = ask(
        "tools", answers={"tools/list": {"tools": tools}}, screen=Screen(io.StringIO(), errors, {})
    )
    assert [line.split() for line in answer.text.splitlines()][1:] == [["echo"]]
    assert errors.getvalue() == f"the server sent {said} without a name, which cannot be called\n"
    assert answer.raw["tools"] == tools


def test_one_tool_is_described() -> None:
    """F-SHOW-1: signature, types, defaults, description and annotations."""
    tool = {
        "name": "send",
        "description": "Send a letter.\x1b[2J",
        "inputSchema": {
            "type": "object",
            "properties": {
                "to": {"type": "string", "description": "Whom to"},
                "size": {"enum": ["s", "m"], "default": "m"},
                "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
            },
            "required": ["to"],
            "$defs": {"tag": {"type": ["string", "null"]}},
        },
        "outputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}},
        "annotations": {"readOnlyHint": "odd", "destructiveHint": True},
    }
    text = ask("tools", "send", answers={"tools/list": {"tools": [tool]}}).text
    assert text.splitlines() == [
        'send to=string [size="s" | "m"] [tags=array of null | string]',
        "(destructive)",
        "",
        r"Send a letter.\x1b[2J",
        "",
        "ARGUMENT  TYPE                              DEFAULT  DESCRIPTION",
        "to        string                                     Whom to",
        'size      "s" | "m", optional               "m"',
        "tags      array of null | string, optional",
        "",
        "RETURNS  TYPE     DESCRIPTION",
        "id       integer",
        "",
        "mcpclient call SERVER send to=text",
    ]


# call --detach, tasks, task

WORKING = {"taskId": "t1", "status": "working", "statusMessage": "half\x1b", "pollInterval": 1}
DONE = {**WORKING, "status": "completed", "createdAt": "2026-01-01"}
ANSWERS: dict[str, dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "serverInfo": {"name": "s", "version": "1"},
        "capabilities": {
            "tools": {},
            "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
        },
    },
    "tools/list": {"tools": [{"name": "slow", "execution": {"taskSupport": "optional"}}]},
    "tools/call": {"task": WORKING},
    "tasks/get": DONE,
    "tasks/list": {"tasks": [WORKING, DONE]},
    "tasks/result": {"content": [{"type": "text", "text": "done"}]},
    "tasks/cancel": {**WORKING, "status": "cancelled"},
}


def test_a_call_goes_on_as_a_task() -> None:
    """F-SHOW-21: its id is all of the output, and the line to wait with is said beside it."""
    errors = io.StringIO()
    screen = Screen(io.StringIO(), errors, {})
    answer = ask("call", "slow", "--detach", answers=ANSWERS, screen=screen)
    assert (answer.text, answer.raw["status"]) == ("t1", "working")
    assert "mcpclient task SERVER t1 --wait" in errors.getvalue()


def test_tasks_are_listed_and_waited_for() -> None:
    """F-SHOW-21"""
    assert ask("tasks", answers=ANSWERS).text.splitlines() == [
        "TASK  STATUS     SINCE       MESSAGE",
        r"t1    working                half\x1b",
        r"t1    completed  2026-01-01  half\x1b",
    ]
    assert ask("task", "t1", answers=ANSWERS).text == r"completed: half\x1b"
    assert ask("task", "t1", "--cancel", answers=ANSWERS).raw["status"] == "completed"
    waited = ask("task", "t1", "--wait", answers=ANSWERS)
    assert (waited.text, waited.failed) == ("done", False)


# --pick

ITEMS = {"items": [{"id": 1, "title": "One\x1b"}, {"id": 2, "title": "Two"}]}


def test_parts_of_a_call() -> None:
    """F-SHOW-20: of structured content, or of JSON in the text; strings stay as they are."""
    structured = {"tools/call": {"content": [], "structuredContent": ITEMS}}
    text = ask("call", "echo", "message=x", "--pick", "items[].{id}", answers=structured).text
    assert text.splitlines() == ['{"id": 1}', '{"id": 2}']
    written = {"tools/call": {"content": [{"type": "text", "text": '{"a": ["x\\u001b", 5]}'}]}}
    assert ask("call", "echo", "message=x", "--pick", ".a[]", answers=written).text == "x\\x1b\n5"
    with pytest.raises(UsageError, match="needs JSON"):
        ask("call", "echo", "message=x", "--pick", ".a[]")
    failed = {"tools/call": {"content": [{"type": "text", "text": "no"}], "isError": True}}
    assert ask("call", "echo", "message=x", "--pick", ".a", answers=failed).text == "no"


def test_parts_of_a_resource_and_of_the_tools() -> None:
    """F-SHOW-20"""
    held = {"resources/read": {"contents": [{"uri": "a:b", "text": '{"a": 1}'}]}}
    assert ask("read", "a:b", "--pick", "a", answers=held).text == "1"
    assert ask("tools", "--pick", "tools[].name").text.splitlines()[:2] == ["echo", "add"]


def test_resources_and_templates_are_listed() -> None:
    answer = ask("resources")
    assert answer.text.splitlines() == [
        "RESOURCE       TYPE        DESCRIPTION",
        "demo://readme  text/plain  A short text",
        "demo://pixel   image/png   A very small image",
        "",
        "TEMPLATE                TYPE        DESCRIPTION",
        "demo://greeting/{name}  text/plain  A greeting for anyone",
    ]
    assert [item["name"] for item in answer.raw["resources"]] == ["readme", "pixel"]
    assert answer.raw["resourceTemplates"][0]["uriTemplate"] == "demo://greeting/{name}"
    unknown = {"resources/templates/list": {"code": -32601, "message": "Method not found"}}
    answer = ask("resources", answers=unknown)  # a server need not know templates
    assert ("TEMPLATE" in answer.text, answer.raw["resourceTemplates"]) == (False, [])


def test_a_text() -> None:
    answer = ask("read", "demo://greeting/Ada")
    assert answer.text == "Hello, Ada!"
    assert answer.content == b"Hello, Ada!\n"
    assert answer.raw["contents"][0]["uri"] == "demo://greeting/Ada"


def test_an_image_is_noted_for_people_and_whole_for_files() -> None:
    answer = ask("read", "demo://pixel")
    assert answer.text == "[demo://pixel, image/png, 70 bytes]"
    assert answer.content is not None
    assert answer.content.startswith(b"\x89PNG\r\n")


def test_a_prompt_is_filled_in() -> None:
    """F-SHOW-1: its arguments are strings, whatever they look like."""
    answer = ask("prompt", "haiku", "topic=42", "mood=calm")
    assert answer.text == "user: Write a haiku about 42 in a calm mood."
    assert answer.raw["messages"][0]["role"] == "user"


def test_every_message_is_shown_and_escaped() -> None:
    """F-SHOW-3"""
    messages = [
        {"role": "user", "content": {"type": "text", "text": "\x1b[31mred"}},
        {"role": "assistant\x1b", "content": {"type": "image", "mimeType": "a/b", "data": ""}},
    ]
    answer = ask("prompt", "x", answers={"prompts/get": {"messages": messages}})
    assert answer.text == "user: \\x1b[31mred\nassistant\\x1b: [image, a/b, 0 bytes]"


def test_suggestions_for_the_argument_of_a_prompt() -> None:
    """F-SHOW-1, F-API-5: or of a template."""
    assert ask("complete", "demo://greeting/{name}", "name", "A").text == "Ada\nAlan"
    answer = ask("complete", "haiku", "mood", "c", "topic=rain")
    assert answer.text == "calm\ncheerful"
    assert answer.raw == {
        "completion": {"values": ["calm", "cheerful"], "total": 2, "hasMore": False}
    }


def test_arguments_reach_the_tool_and_its_text_comes_back() -> None:
    """F-SHOW-1"""
    answer = ask("call", "echo", "message=hi there")
    assert (answer.text, answer.failed) == ("hi there", False)
    assert answer.raw == {"content": [{"type": "text", "text": "hi there"}]}
    assert ask("call", "add", "a=1", "b=2.5").text == "3.5"


def test_the_media_of_a_result_are_saved(tmp_path: Path) -> None:
    """F-SHOW-1"""
    image = {"type": "image", "mimeType": "image/png", "data": "YQ=="}
    words, path = ("call", "echo", "message=x", "-o"), tmp_path / "a.png"
    answer = ask(*words, str(path), answers={"tools/call": {"content": [image]}})
    assert (answer.text, path.read_bytes()) == (f"saved {path}", b"a")


def test_progress_reaches_the_status_line() -> None:
    """F-SHOW-3"""
    screen = Screen(io.StringIO(), Terminal(), {})
    ask("call", "count", "to=3", "seconds=0", screen=screen)
    assert "3/3 counted to 3" in screen.status._text(0)


def test_a_failure_is_an_answer_that_failed() -> None:
    """F-SHOW-2"""
    answer = ask("call", "fail", "reason=no \x1b[31mpaper", "-o", "x.png")
    assert (answer.text, answer.failed) == (r"no \x1b[31mpaper", True)
    assert answer.raw["isError"] is True


def test_a_long_result_is_told() -> None:
    """F-SHOW-4: after its text."""
    told: list[str] = []
    for length in (40_000, 44_000):
        result = {"content": [{"type": "text", "text": "x" * length}]}
        told += ask("call", "echo", "message=hi", answers={"tools/call": result}).notes
    assert told == ["warning: the result has about 11,000 tokens"]


def test_structured_content_is_shown_when_there_is_nothing_else() -> None:
    """F-SHOW-4"""
    result = {"content": [], "structuredContent": {"sum": 3}}
    assert (
        ask("call", "add", "a=1", "b=2", answers={"tools/call": result}).text == '{\n  "sum": 3\n}'
    )
    assert ask("call", "add", "a=1", "b=2", answers={"tools/call": {"content": []}}).text == ""


def test_a_server_that_lists_no_tools_is_called_all_the_same() -> None:
    """F-SHOW-2: then nothing is known of the arguments."""
    refused = {"tools/list": {"code": -32601, "message": "no such method"}}
    assert ask("call", "echo", "message=hi", answers=refused).text == "hi"
    with pytest.raises(PeerError):
        ask("call", "echo", answers={"tools/list": {"code": -32603, "message": "broken"}})
