"""Binary content, told by its bytes."""

from __future__ import annotations

import pytest

from mcpclient.adapters.limits import Media, MediaRules, media_type_of
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
        (b"\0\0\0\x1cftypavif", "", "image/avif"),
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
    kinds = [Media(f"{kind}/x", b"").kind for kind in ("image", "audio", "video", "text")]
    assert kinds == ["image", "audio", "video", "document"]
    assert Media("image/png", b"\xfb\xff").base64 == "+/8="
    assert "secret" not in repr(Media("image/png", b"secret"))
