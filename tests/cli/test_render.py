"""Text for a terminal: harmless, and readable at any width: F-SHOW-3, F-SHOW-18."""

from __future__ import annotations

import base64
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from mcpclient import CallToolResult, ImageContent, UsageError
from mcpclient.cli.layout import (
    Style,
    definitions,
    fill,
    listing,
    one_line,
    shorten,
    table,
    width_of,
    wrapped,
)
from mcpclient.cli.main import main
from mcpclient.cli.render import (
    contents,
    picture,
    pictures_of,
    pretty_json,
    result_text,
    save_media,
)
from mcpclient.errors import ProtocolViolation
from mcpclient.protocol.types import ResourceContents, content_block
from tests.support.tables import each_row

PLAIN = Style()


def test_json_is_ascii_and_exact() -> None:
    """F-SHOW-2: nothing in it can reach a terminal, and nothing is lost."""
    value = {"text": "\x1b[31m\u202e\x9b\ud83d ü"}
    assert pretty_json(value).isascii()
    assert "\x1b" not in pretty_json(value)
    assert json.loads(pretty_json(value)) == value


def test_one_line_folds_white_space_and_takes_none() -> None:
    assert one_line("  two\n  lines\x1b ") == r"two lines\x1b"
    assert one_line(None) == ""


@each_row(
    ("text", "columns", "shown"),
    [
        ("short", 5, "short"),
        ("longer text", 8, "longer…"),
        ("世界世界", 6, "世界…"),
        ("世界", 4, "世界"),
    ],
)
def test_shorten_cuts_to_columns(text: str, columns: int, shown: str) -> None:
    assert shorten(text, columns) == shown


def test_a_table_is_aligned_by_what_is_seen() -> None:
    assert [width_of(text) for text in ("abc", "世界", "e\u0301")] == [3, 4, 1]
    assert table((), [("a", "b")], PLAIN) == "a  b"
    assert table((), [], PLAIN) == ""
    shown = table(("NAME", "WHAT"), [("世界", "world"), ("a", "letter")], PLAIN)
    assert shown == "NAME  WHAT\n世界  world\na     letter"


def test_a_table_has_a_bold_header_and_nothing_of_it_is_cut() -> None:
    """F-SHOW-22: a wide column is wrapped, what follows a wide word stands below it, and in a
    narrow terminal each row is a block."""
    rows = [("ab", "x" * 30, "", "word " * 9), ("c", "short", "", "text")]
    header = ("N", "A", "EMPTY", "WHAT")
    assert table(header, rows, Style(colour=True, columns=34)).splitlines() == [
        "\x1b[1mN   A               WHAT\x1b[0m",
        "ab  " + "x" * 30,
        "                    word word word",
        "                    word word word",
        "                    word word word",
        "c   short           text",
    ]
    assert table(header, rows, Style(columns=20)).splitlines()[-2:] == ["c short", "  text"]
    assert table(header, rows[1:], PLAIN).endswith("c  short         text")


def block(**fields: object) -> str:
    return contents([content_block(dict(fields))], PLAIN)


def test_text_is_shown_and_everything_else_is_noted() -> None:
    assert block(type="text", text="a\x1b\n") == r"a\x1b"
    assert block(type="image", mimeType="image/png", data="AAAA") == "[image, image/png, 3 bytes]"
    assert block(type="audio", mimeType="audio/wav", data="AAAA") == "[audio, audio/wav, 3 bytes]"
    assert block(type="resource_link", uri="x://y", name="Y\x1b") == r"[resource, x://y, Y\x1b]"
    assert block(type="resource_link", uri="x://y", name="Y", title="T") == "[resource, x://y, T]"
    assert block(type="hologram") == "[hologram]"
    assert block() == "[content of no type]"


def test_embedded_resources_are_shown_like_resources() -> None:
    assert block(type="resource", resource={"uri": "x://y", "text": "inside"}) == "inside"
    binary = ResourceContents({"uri": "x://y", "mimeType": "a/b", "blob": "AAAA"})
    assert contents([binary], PLAIN) == "[x://y, a/b, 3 bytes]"
    assert contents([binary], Style(colour=True)) == "\x1b[2m[x://y, a/b, 3 bytes]\x1b[0m"


def test_json_that_is_too_deep_is_one_error() -> None:
    """F-SHOW-2, F-WIRE-7"""
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ProtocolViolation, match="nested too deeply to show"):
        pretty_json(deep)


def test_names_with_what_they_mean_are_filled_and_never_cut() -> None:
    """F-SHOW-3: at any width; wide characters count twice."""
    rows = [
        ("a", "short"),
        ("名前", "words that do not fit beside it"),
        ("a long name", ""),
        ("b c", "x"),
    ]
    assert definitions(rows, None).splitlines()[0] == "a            short"
    assert definitions(rows, 24).splitlines() == [
        "a         short",
        "名前      words that do",
        "          not fit beside",
        "          it",
        "a long name",
        "b c       x",
    ]
    assert definitions([], 24) == ""


PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 5000


def image(data: bytes) -> dict[str, str]:
    return {"type": "image", "mimeType": "image/png", "data": base64.b64encode(data).decode()}


@each_row(
    ("environ", "way"),
    [
        ({"TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ({"TERM_PROGRAM": "WezTerm"}, "iterm"),
        ({"KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"TERM": "xterm-ghostty"}, "kitty"),
        ({"TERM": "xterm-256color"}, ""),
    ],
)
def test_which_terminals_show_images(environ: dict[str, str], way: str) -> None:
    """F-SHOW-4"""
    assert pictures_of(environ) == way


def test_the_bytes_reach_the_terminal() -> None:
    """F-SHOW-4: whole, in pieces of at most 4,096 characters for kitty."""
    shown = picture(ImageContent(image(PNG)), "iterm")
    assert shown.startswith(f"\x1b]1337;File=inline=1;size={len(PNG)}:")
    assert base64.b64decode(shown.partition(":")[2].rstrip("\a")) == PNG
    first, second, rest = picture(ImageContent(image(PNG)), "kitty").split("\x1b\\")
    assert first.startswith("\x1b_Gf=100,a=T,m=1;")
    assert second.startswith("\x1b_Gm=0;")
    assert rest == ""
    joined = first.partition(";")[2] + second.partition(";")[2]
    assert base64.b64decode(joined) == PNG


# Results, in a pipe and on a terminal

SCREEN = Style(columns=60)


def result(*blocks: dict[str, Any], **more: Any) -> CallToolResult:
    return CallToolResult({"content": list(blocks), **more})


def of(value: Any) -> CallToolResult:
    return result({"type": "text", "text": json.dumps(value)})


SLACK = "https://acme.slack.com/archives/C0123456789/p1700000000000100"


@each_row(
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
        ({"message_link": SLACK, "channel_name": " ", "channel": "a"}, "Sent a message to #a"),
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


@each_row("text", ["plain", "[1, 2]", "{broken", '{"a":' * 2000])
def test_what_is_no_object_stays(text: str) -> None:
    """F-SHOW-4"""
    assert result_text(result({"type": "text", "text": text}), SCREEN) == text


def test_thirteen_pairs_are_too_many_and_long_json_is_cut() -> None:
    """F-SHOW-4"""
    many = {f"k{n}": n for n in range(13)}
    assert result_text(of(many), SCREEN) == json.dumps(many, indent=2)
    text = result_text(of({"rows": [list(range(300))]}), SCREEN)
    assert text.splitlines()[-1] == "… 106 more lines; --json, or a pipe, has all of it"


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


@pytest.mark.slow
def test_the_line_of_a_tool_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """F-SHOW-18: with the words that named the server, wherever they stand."""
    server = ["--", "python3", "mcpclient/testing/demo_server.py"]
    for words in (["mcpclient/testing/demo_server.py", "echo"], ["echo", *server]):
        assert main(["tools", *words]) == 0
        line = shlex.split(capsys.readouterr().out.splitlines()[-1])
        assert line[:2] == ["mcpclient", "call"]
        assert main(line[1:]) == 0
        assert capsys.readouterr().out == "text\n"


def test_text_is_wrapped_at_words_and_wide_characters() -> None:
    """F-SHOW-18: what is wider than a line stays whole, as URLs do."""
    assert wrapped("one two three", 7, "  ") == ["  one", "  two", "  three"]
    assert wrapped("ab世界 cd", 4) == ["ab世", "界", "cd"]
    assert wrapped("see https://example.com/x now", 8) == ["see", "https://example.com/x", "now"]
    assert wrapped("PATH: /bin:/usr/bin", 10) == ["PATH:", "/bin:", "/usr/bin"]
    assert wrapped("", 8) == []
    text = "A hint of words:\n  mcpclient call 'one two' three\n\n  b c\n- ab cd\nn  ab cd"
    assert fill(text, 20).split("\n") == [
        *("A hint of words:", "  mcpclient call \\", "      'one two' \\", "      three"),
        *("", "  b c", "- ab cd", "n  ab cd"),
    ]
    assert fill(text, 6).split("\n")[-4:] == ["- ab", "  cd", "n  ab", "   cd"]
    assert fill(text, None) == text
    assert listing(("A", "B"), [("a", "b. c")], Style()) == "A  B\na  b. c"
