"""Images in the terminals that can show them: F-SHOW-4."""

from __future__ import annotations

import base64

import pytest

from mcpclient import CallToolResult, ImageContent
from mcpclient.cli.render import Style, picture, pictures_of, result_text

PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 5000


def image(data: bytes) -> dict[str, str]:
    return {"type": "image", "mimeType": "image/png", "data": base64.b64encode(data).decode()}


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("data", "way"), [(b"", "iterm"), (b"GIF89a", "kitty"), (PNG, ""), (b"x" * 9_000_000, "iterm")]
)
def test_what_is_not_shown(data: bytes, way: str) -> None:
    assert picture(ImageContent(image(data)), way) == ""


def test_a_result_shows_its_image_above_the_note() -> None:
    result = CallToolResult({"content": [image(PNG), {"type": "text", "text": "a cat"}]})
    shown = result_text(result, Style(columns=80, pictures="iterm"))
    assert shown.startswith("\x1b]1337;")
    assert shown.endswith("[image, image/png, 5008 bytes]\na cat")
    assert "\x1b" not in result_text(result, Style(columns=80))
