"""Results as text and media."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.adapters.limits import Limits, Media, MediaRules
from mcpclient.adapters.parts import Prepared, parts_of, prepared
from mcpclient.errors import ConnectFailed, ProcessExited, ServersFailed, UsageError
from mcpclient.protocol.types import CallToolResult
from tests.adapters.outcomes import OUTCOMES, PNG, encoded
from tests.support.tables import each_row

RULES = MediaRules({"image/png": "png", "audio/wav": "wav"}, {"image": 4_000_000})
LIMITS = Limits()


def texts(name: str) -> list[str]:
    parts = prepared(OUTCOMES[name], LIMITS, RULES).parts
    return [part if isinstance(part, str) else f"<{part.media_type}>" for part in parts]


@each_row(
    ("name", "expected"),
    [
        ("text", ["one\ntwo"]),
        ("nothing", ["[no output]"]),
        ("white space", ["[no output]"]),
        ("an error without words", ["[no output]"]),
        ("structured", ['{"$ref": "#/a", "n": [1, null]}']),
        ("structured beside its text", ['{"n": 1}']),
        ("an image", ["see", "<image/png>", "above"]),
        ("an image of another type", ["<image/png>"]),
        (
            "only an image",
            ["[image, image/gif, 14 bytes: the model does not accept this type here]"],
        ),
        ("a damaged image", ["[image, image/png, 0 bytes: it is empty or damaged]"]),
        ("a drawing", ["<svg/>"]),
        ("sound", ["<audio/wav>"]),
        ("embedded text", ["[resource file:///a/b.pdf]\ninside"]),
        ("a bare resource", ["[resource file:///a/b.pdf]"]),
        ("a link", ['[resource memo://1, name "m"]']),
        ("unknown", ['{"type": "hologram", "depth": 3}']),
        (
            "half a pair",
            [
                "a \ufffd b\n"
                "[document, \ufffd, 1 bytes: the model does not accept this type here]\n"
                '{"k\ufffd": "\ufffd"}'
            ],
        ),
        (
            "an embedded archive",
            [
                "[document file:///a/b.pdf, application/zip, 4 bytes: "
                "the model does not accept this type here]"
            ],
        ),
    ],
)
def test_content(name: str, expected: list[str]) -> None:
    """F-TOOL-3: every kind of content, and never nothing at all."""
    assert texts(name) == expected


def structured(value: Any, *texts: str) -> Prepared:
    content = [{"type": "text", "text": text} for text in texts]
    result = CallToolResult({"content": content, "structuredContent": value})
    return prepared(result, LIMITS, RULES)


@each_row(
    ("value", "said"),
    [
        ({"n": 1}, ['{ "n": 1 }']),
        ({"result": "hi"}, ["hi"]),
        ({"result": 5}, ["5"]),
        ({"result": ["a", 2]}, ["a", "2"]),
        ({"result": {"n": 1}}, ['{"n": 1}']),
        ([1], ["[1]"]),
    ],
)
def test_structured_content_that_the_text_repeats(value: object, said: list[str]) -> None:
    """F-TOOL-3: servers send both, as the specification recommends; a model reads it once."""
    assert structured(value, *said).text == "\n".join(said)


def test_which_form_is_a_choice() -> None:
    """F-TOOL-9: media and the words of a failure stay, whatever is asked for."""
    result = {"content": [{"type": "text", "text": "1"}], "structuredContent": {"done": 1}}

    def said(form: Any, **fields: Any) -> str:
        limits = Limits(structured=form)
        return prepared(CallToolResult({**result, **fields}), limits, RULES).text

    assert said("text") == "1"
    assert said("only") == '{"done": 1}'
    assert said("both") == '1\n{"done": 1}'
    assert said("only", isError=True) == "1"
    assert said("only", structuredContent=None) == "1"
    image = {"type": "image", "data": encoded(PNG), "mimeType": "image/png"}
    only = Limits(structured="only")
    made = prepared(CallToolResult({"content": [image], "structuredContent": {}}), only, RULES)
    assert [type(part) for part in made.parts] == [Media, str]
    with pytest.raises(UsageError, match='structured is "text", "only" or "both", not \'none\''):
        said("none")


@each_row("mime_type", ["application/json", "application/ld+json", "text/x-c"])
def test_a_text_file_in_a_blob_is_text(mime_type: str) -> None:
    """F-TOOL-3."""
    resource = {"uri": "a:b", "blob": encoded(b"{}\xff"), "mimeType": mime_type}
    result = CallToolResult({"content": [{"type": "resource", "resource": resource}]})
    assert parts_of(result.content) == ["[resource a:b]", "{}\ufffd"]


def test_a_result_keeps_invisible_text_and_is_marked() -> None:
    """F-SAFE-12: it may have been asked for, and the model and the caller learn of it."""
    result = CallToolResult({"content": [{"type": "text", "text": "a\u200bb"}]})
    made = prepared(result, Limits(), MediaRules())
    told = "the result has 1 invisible character: U+200B ZERO WIDTH SPACE at 1"
    assert made.text == f"a\u200bb\n[Note of the client: {told}]"
    prepared(result, Limits(), MediaRules())
    assert result.warnings == [told]


def test_output_of_a_process_is_for_the_user_only() -> None:
    """F-TOOL-9: no provider of a model gets it, in whichever exception it is."""
    exited = ProcessExited(["server"], 3, "token=hunter2\n", "debug: hunter2")
    for error in (exited, ConnectFailed("a", str(exited)), ServersFailed({"a": exited})):
        (text,) = prepared(error, LIMITS, RULES).parts
        assert "hunter2" in str(error) and "hunter2" not in str(text)
