"""The host that a browser visits for an http or https URL, where there is no doubt about it.

Browsers remove tabs and line ends from URLs, take a backslash for a slash, decode percent signs in
the host, and accept many spellings of one IPv4 address. A user who is shown another host than the
one visited is deceived; so a URL that other programs could read differently has no host here.

Source: RFC 3986; the URL Standard (https://url.spec.whatwg.org), "Host parsing"; and UTS #46, of
which only the unambiguous part is done.
"""

from __future__ import annotations

import re
import unicodedata
from ipaddress import IPv4Address, IPv6Address

# RFC 3986, section 3, without the hosts of its section 3.2.2 that no name server knows.
_STRICT = re.compile(
    r"(?ai)https?://(?:[\w.~!$&'()*+,;=:%-]*@)?(\[[0-9a-f:.]+\]|[^\s/?#@:\[\]\\%]+)(?::([0-9]*))?"
    r"(?:[/?#][^\s\\]*)?"
)
_NOT_IN_A_URL = re.compile(r"[\x00-\x20\x7f\"<>\\^`{|}]")
_HIGHEST_PORT = 65535
_IPV4_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+", re.ASCII)
_MAX_HOST_LENGTH = 1000  # a name has 253 characters at most; longer ones are not parsed

# Letters whose mapping depends on the version of Unicode, or on their neighbours; and fillers.
_UNCERTAIN = frozenset("\u04c0\u04cf\u0640\u115f\u1160")
_CERTAIN_CATEGORIES = frozenset({"Ll", "Lo", "Lm", "Nd"})


def browser_host(url: str) -> str:
    """Return the host, as ``new URL(url).hostname`` of JavaScript: in ASCII and in lower case.

    An IPv6 address is in brackets. Empty unless browsers, and programs that follow RFC 3986, agree
    on every part of an http or https URL. Such a URL has no character that is invisible, or that
    some program replaces or removes.
    """
    strict = _STRICT.fullmatch(url)
    if strict is None or _NOT_IN_A_URL.search(url) or not url.isprintable():
        return ""
    host, port = strict.groups("")
    digits = port.lstrip("0")
    if len(digits) > 5 or int(digits or "0") > _HIGHEST_PORT or len(host) > _MAX_HOST_LENGTH:
        return ""
    try:
        if host.startswith("["):
            address = IPv6Address(host[1:-1])  # in the one spelling that all programs write
            return "" if address.ipv4_mapped else f"[{address}]"
        # Letters outside of ASCII are judged as they are.
        lowered = re.sub("[A-Z]+", lambda match: match[0].lower(), host)
        labels = [_label_to_ascii(label) for label in lowered.split(".")]
        named = ".".join(labels)
        is_plain = not is_meant_as_ipv4(named.rstrip(".")) or str(IPv4Address(named)) == named
        return named if is_plain else ""
    except ValueError:
        return ""


def is_meant_as_ipv4(host: str) -> bool:
    """Whether a host without a trailing dot ends in a number, and can only be an IPv4 address."""
    return _IPV4_NUMBER.fullmatch(host.rpartition(".")[2]) is not None


def parse_canonical_ipv4(text: str) -> int | None:
    """Parse an IPv4 address in any spelling of inet_aton into a number; None for anything else.

    It has one to four parts, each decimal, octal (leading ``0``) or hexadecimal (leading ``0x``),
    of which the last one fills the remaining bytes; and may have one trailing dot.
    """
    parts = (text[:-1] if text.endswith(".") else text).split(".")
    *leading, last = numbers = [_ipv4_number(part) for part in parts]
    if len(parts) > 4 or -1 in numbers or any(number > 255 for number in leading):
        return None
    if last >= 256 ** (5 - len(parts)):
        return None
    return last + sum(number << (24 - 8 * index) for index, number in enumerate(leading))


def _ipv4_number(part: str) -> int:
    """Return the number in a part of an IPv4 address; -1 when it is not a number."""
    # Far more digits than any address has; int() of a megabyte is slow.
    if len(part) > _MAX_HOST_LENGTH or not _IPV4_NUMBER.fullmatch(part):
        return -1
    if part[:2].lower() == "0x":
        return int(part[2:] or "0", 16)
    if part[0] == "0":
        return int(part, 8) if not set(part) & set("89") else -1
    return int(part)


def _label_to_ascii(label: str) -> str:
    """Return a label as the name server has it. Raises `ValueError` where that is uncertain."""
    if label.startswith("xn--"):
        decoded = label[4:].encode("ascii").decode("punycode")
        if decoded.isascii() or _label_to_ascii(decoded) != label:
            raise ValueError("this is not how a label is encoded")
        return label
    if label.isascii():
        return label
    # It is certain where it is valid by every edition of UTS #46, and its own mapping.
    is_certain = unicodedata.normalize("NFKC", label).casefold() == label and all(
        character in "-_0123456789"
        or (
            character not in _UNCERTAIN
            and unicodedata.category(character) in _CERTAIN_CATEGORIES
            and unicodedata.bidirectional(character) == "L"
        )
        for character in label
    )
    if not is_certain:
        raise ValueError("not every browser encodes this label in the same way")
    return f"xn--{label.encode('punycode').decode('ascii')}"
