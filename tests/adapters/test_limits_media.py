"""Binary content, told by its bytes."""

from __future__ import annotations

import pytest

from mcpclient.adapters import anthropic, bedrock, google, openai_chat, openai_responses
from mcpclient.adapters.definitions import DefinitionRules
from mcpclient.adapters.limits import Media, MediaRules, media_type_of
from mcpclient.adapters.model_api import ModelApi
from tests.adapters.outcomes import GIF, PDF, PNG, WAV

RULES = MediaRules({"image/png": "png", "audio/wav": "wav"}, {"image": 100, "audio": 10})


@pytest.mark.parametrize(
    ("data", "said", "found"),
    [
        (PNG, "image/jpeg", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/png", "image/jpeg"),
        (GIF, "", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "", "image/webp"),
        (WAV, "audio/x-wav", "audio/wav"),
        (b"RIFF\0\0\0\0AVI ", "video/x-msvideo", "video/x-msvideo"),
        (b"\0\0\0\0\0\0\0\0WAVE", "text/x-log", "text/x-log"),
        (b"\0\0\0\x1cftypisom", "video/mp4", "video/mp4"),
        (PDF, "text/plain", "application/pdf"),
        (b"ID3", "", "audio/mpeg"),
        (b"?", "image/JPG; charset=x", "image/jpeg"),
        (b"?", " Audio/MP3 ", "audio/mpeg"),
        (b"", "", "application/octet-stream"),
    ],
)
def test_the_bytes_count_more_than_what_is_said(data: bytes, said: str, found: str) -> None:
    """F-TOOL-3: services refuse an image whose type is wrong."""
    assert media_type_of(data, said) == found


@pytest.mark.parametrize(
    ("media", "refusal"),
    [
        (Media("image/png", bytes(50)), None),
        (Media("image/png", bytes(51)), "image, image/png, 51 bytes: it is larger than 50 bytes"),
        (Media("audio/wav", bytes(11)), "audio, audio/wav, 11 bytes: it is larger than 10 bytes"),
        (
            Media("application/zip", b"PK", "a.zip"),
            "document a.zip, application/zip, 2 bytes: the model does not accept this type here",
        ),
        (Media("image/png", b""), "image, image/png, 0 bytes: it is empty or damaged"),
    ],
)
def test_what_an_api_takes(media: Media, refusal: str | None) -> None:
    """F-TOOL-3: the smaller limit counts, and the reason is told."""
    assert RULES.refusal(media, 50) == refusal


def test_the_limit_of_the_api_counts_where_it_is_smaller() -> None:
    """F-TOOL-3."""
    refusal = RULES.refusal(Media("image/png", bytes(101)), 1000)
    assert refusal is not None
    assert refusal.endswith("larger than 100 bytes")


def test_kinds() -> None:
    """F-TOOL-3"""
    kinds = [Media(f"{kind}/x", b"").kind for kind in ("image", "audio", "video", "text")]
    assert kinds == ["image", "audio", "video", "document"]
    assert Media("image/png", b"\xfb\xff").base64 == "+/8="
    assert "secret" not in repr(Media("image/png", b"secret"))


IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
GEMINI = (
    *("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf"),
    *("audio/wav", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"),
    *("video/mp4", "video/mpeg", "video/webm", "video/quicktime"),
)
OFFICE = "application/vnd.openxmlformats-officedocument."
CONVERSE = {
    **{f"image/{name}": name for name in ("png", "jpeg", "gif", "webp")},
    **{f"video/{name}": name for name in ("mp4", "webm", "mpeg")},
    **{"video/quicktime": "mov", "video/x-matroska": "mkv"},
    **{"application/pdf": "pdf", "application/msword": "doc", "application/vnd.ms-excel": "xls"},
    f"{OFFICE}wordprocessingml.document": "docx",
    f"{OFFICE}spreadsheetml.sheet": "xlsx",
}


@pytest.mark.parametrize(
    ("api", "taken", "most_bytes"),
    [
        (
            anthropic._API,
            dict.fromkeys(IMAGES, "image") | {"application/pdf": "document"},
            {"image": 3_932_160, "document": 32_000_000},
        ),
        (
            openai_chat._API,
            dict.fromkeys(IMAGES, "image")
            | {"audio/wav": "wav", "audio/mpeg": "mp3", "application/pdf": "file"},
            {"image": 20_000_000},
        ),
        (
            openai_responses._API,
            dict.fromkeys(IMAGES, "input_image") | {"application/pdf": "input_file"},
            {"image": 20_000_000},
        ),
        (
            google._API,
            {name: name for name in GEMINI},
            dict.fromkeys(("image", "audio", "video", "document"), 15_000_000),
        ),
        (bedrock._API, CONVERSE, {"image": 3_932_160, "document": 4_718_592, "video": 25_000_000}),
    ],
)
def test_the_media_that_each_api_takes(
    api: ModelApi, taken: dict[str, str], most_bytes: dict[str, int]
) -> None:
    """F-TOOL-3: by its documentation; a request with anything else is refused as a whole."""
    assert (api.media.taken, api.media.most_bytes) == (taken, most_bytes)
    for media_type in taken:
        assert api.media.refusal(Media(media_type, b"x"), 1) is None


@pytest.mark.parametrize(
    ("rules", "longest", "longest_property", "may_begin_with_digit"),
    [
        (anthropic._API.rules, 128, 64, True),
        (openai_chat._API.rules, 64, 256, True),
        (openai_responses._API.rules, 64, 256, True),
        (google._API.rules, 64, 64, False),
        (bedrock._API.rules, 64, 64, True),
    ],
)
def test_the_names_that_each_api_takes(
    rules: DefinitionRules, longest: int, longest_property: int, may_begin_with_digit: bool
) -> None:
    """F-TOOL-1: neither shortened without need nor too long."""
    assert rules.properties is not None
    for rule, most in ((rules.names, longest), (rules.properties, longest_property)):
        assert (rule.admits("n" * most), rule.admits("n" * (most + 1))) == (True, False)
    assert rules.names.admits("1") == may_begin_with_digit
    assert all(map(rules.names.admits, ("a-b_C9", "_a"))) and not rules.names.admits("a.b")
