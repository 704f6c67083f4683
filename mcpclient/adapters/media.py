"""What binary content is, told by its first bytes, and whether an API takes it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"OggS", "audio/ogg"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_BRANDS = {
    b"avif": "image/avif",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heif",
}
# The same under other names.
_SYNONYMS = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "audio/mp3": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/x-flac": "audio/flac",
}


@dataclass(frozen=True)
class Media:
    """Binary content: its media type, the bytes, and a name where it has one."""

    media_type: str
    data: bytes = field(repr=False)
    name: str = ""

    @property
    def kind(self) -> str:
        """``"image"``, ``"audio"``, ``"video"``, or ``"document"`` for everything else."""
        kind = self.media_type.partition("/")[0]
        return kind if kind in ("image", "audio", "video") else "document"

    @property
    def base64(self) -> str:
        """The bytes in Base64, without line breaks."""
        return base64.b64encode(self.data).decode("ascii")

    @property
    def file_name(self) -> str:
        """The last part of the name, for APIs that want the name of a file."""
        return self.name.rpartition("/")[2] or "document.pdf"

    @property
    def description(self) -> str:
        """What it is, in words, for a model that does not get it."""
        named = f" {self.name}" if self.name else ""
        return f"{self.kind}{named}, {self.media_type}, {len(self.data)} bytes"


@dataclass(frozen=True)
class MediaRules:
    """Which media an API takes, by type, and the most bytes of each kind (before Base64).

    ``taken``: the media types, each with the word the API has for it.
    """

    taken: Mapping[str, str] = field(default_factory=dict)
    most_bytes: Mapping[str, int] = field(default_factory=dict)

    def takes(self, media_type: str) -> bool:
        """Whether the API takes this type at all."""
        return media_type in self.taken

    def refusal(self, media: Media, most_image_bytes: int) -> str | None:
        """Say why the API does not get this, or return None when it does."""
        if not media.data:
            return f"{media.description}: it is empty or damaged"
        if not self.takes(media.media_type):
            return f"{media.description}: the model does not take this type here"
        limit = self.most_bytes.get(media.kind)
        if media.kind == "image":
            limit = min(most_image_bytes, most_image_bytes if limit is None else limit)
        if limit is not None and len(media.data) > limit:
            return f"{media.description}: it is larger than {limit} bytes"
        return None


def media_type_of(data: bytes, said: str) -> str:
    """Return the media type of these bytes; ``said`` counts where they do not tell."""
    for signature, media_type in _SIGNATURES:
        if data.startswith(signature):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] in _RIFF:
        return _RIFF[data[8:12]]
    if data[4:8] == b"ftyp" and data[8:12] in _BRANDS:
        return _BRANDS[data[8:12]]
    written = said.partition(";")[0].strip().lower()
    return _SYNONYMS.get(written, written) or "application/octet-stream"
