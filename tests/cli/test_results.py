"""What a tool returned, in a pipe and on a terminal."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from mcpclient import CallToolResult, UsageError
from mcpclient.cli.render import Style, result_text, save_media

PIPE = Style()
SCREEN = Style(columns=60)


def result(*blocks: dict[str, Any], **more: Any) -> CallToolResult:
    return CallToolResult({"content": list(blocks), **more})


def of(value: Any) -> CallToolResult:
    return result({"type": "text", "text": json.dumps(value)})


SLACK = "https://acme.slack.com/archives/C0123456789/p1700000000000100"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"messages": "one\ntwo\x1b[2J"}, "one\ntwo\\x1b[2J"),
        ({"text": "x" * 50, "ok": True}, "x" * 50 + "\n[ok: true]"),
        ({"text": "y" * 90, "note": "n"}, "y" * 90 + "\n[note: n]"),
        ({"sum": 3, "unit": "m"}, "sum:  3\nunit: m"),
        ({"größe": 1, "b": None, "c": [1, 2]}, "größe: 1\nb:     null\nc:     [1, 2]"),
        ({"deep": {"a": "x" * 200}}, '{\n  "deep": {\n    "a": "' + "x" * 49 + "…\n  }\n}"),
        ({"message_link": SLACK, "channel_name": "general"}, "Sent a message to #general"),
        ({"message_link": SLACK, "ok": True}, "Sent a message to #C0123456789"),
        (
            {"message_link": "https://evil.example/archives/C0/p1"},
            "https://evil.example/archives/C0/p1",
        ),
        ({}, "{}"),
    ],
)
def test_the_tiers_of_a_terminal(value: dict[str, Any], shown: str) -> None:
    """F-SHOW-4"""
    assert result_text(of(value), SCREEN) == shown
    assert result_text(result(structuredContent=value), SCREEN) == shown


def test_in_a_pipe_the_text_is_whole() -> None:
    """F-SHOW-4: nothing is taken apart, cut, or left out."""
    value = {"messages": "one\ntwo"}
    assert result_text(of(value), PIPE) == json.dumps(value)
    assert result_text(result(structuredContent=value), PIPE) == json.dumps(value, indent=2)


@pytest.mark.parametrize("text", ["plain", "[1, 2]", "{broken", '{"a": ' * 2000])
def test_what_is_no_object_stays(text: str) -> None:
    """F-SHOW-4"""
    assert result_text(result({"type": "text", "text": text}), SCREEN) == text


def test_two_blocks_stay_two() -> None:
    """F-SHOW-4"""
    blocks = [{"type": "text", "text": '{"a": "b"}'}, {"type": "text", "text": "more"}]
    assert result_text(result(*blocks), SCREEN) == '{"a": "b"}\nmore'


def test_thirteen_pairs_are_too_many_and_long_json_is_cut() -> None:
    """F-SHOW-4"""
    many = {f"k{n}": n for n in range(13)}
    assert result_text(of(many), SCREEN) == json.dumps(many, indent=2)
    text = result_text(of({"rows": [list(range(300))]}), SCREEN)
    assert text.splitlines()[-1] == "… 106 more lines; --json, or a pipe, has all of it"


def test_a_link_where_the_terminal_has_links() -> None:
    """F-SHOW-4"""
    text = result_text(of({"message_link": SLACK}), Style(colour=True, columns=80))
    assert text == f"Sent a message to \x1b]8;;{SLACK}\x1b\\#C0123456789\x1b]8;;\x1b\\"


@pytest.mark.parametrize("end", ["\x1b]0;evil\x07", "\x1b\\evil", "\u202e", "é", "\x9c"])
def test_a_link_that_a_terminal_would_act_upon_is_none(end: str) -> None:
    """F-SAFE-6: the address of a hyperlink is printable ASCII."""
    text = result_text(of({"message_link": f"{SLACK}{end}"}), Style(colour=True, columns=80))
    assert "\x1b]" not in text
    assert end not in text or end == "é"


def test_media_are_saved(tmp_path: Path) -> None:
    """F-SHOW-2: the first as named, others numbered."""
    data = base64.b64encode(b"\x89PNG").decode()
    blocks: list[dict[str, Any]] = [
        {"type": "image", "data": data, "mimeType": "image/png"},
        {"type": "text", "text": "between"},
        {"type": "resource", "resource": {"uri": "a://b", "blob": data}},
    ]
    path = str(tmp_path / "a.png")
    assert save_media(result(*blocks), path) == [path, str(tmp_path / "a-2.png")]
    assert (tmp_path / "a-2.png").read_bytes() == b"\x89PNG"
    plain = str(tmp_path / "plain")
    assert save_media(result(*blocks), plain)[1] == plain + "-2"


def test_nothing_to_save_and_nowhere_to_save_it(tmp_path: Path) -> None:
    """F-SHOW-4"""
    with pytest.raises(UsageError, match="no image, sound or file"):
        save_media(result({"type": "text", "text": "x"}), str(tmp_path / "x"))
    with pytest.raises(UsageError, match="cannot write"):
        save_media(result({"type": "image", "data": "", "mimeType": "image/png"}), str(tmp_path))
