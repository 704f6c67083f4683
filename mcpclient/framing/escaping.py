"""A server's words made harmless for a terminal or a log.

They are never trusted: an escape sequence could rewrite the screen, a bidirectional override could
show a name as another one, an invisible character could hide an instruction.
"""

from __future__ import annotations

import re

__all__ = ["escape"]

# Control characters except line feed and tab; characters that are invisible or change the
# direction of others, except the joiners that scripts and emoji need; halves of surrogate pairs.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def escape(text: str) -> str:
    r"""Return the text with everything a terminal would act upon written out, like ``\x1b``.

    Line feeds and tabs stay; line ends become line feeds.
    """
    return _UNSAFE.sub(_written_out, text.replace("\r\n", "\n"))


def _written_out(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
