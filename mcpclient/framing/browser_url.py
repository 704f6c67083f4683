"""The host that a browser visits for an http or https URL, however odd the URL is.

Browsers remove tabs and line ends from URLs, take a backslash for a slash, decode percent signs in
the host, and accept many spellings of one IPv4 address. A user who is shown another host than the
one visited is deceived.

Source: the URL Standard (https://url.spec.whatwg.org), "URL parsing" and "Host parsing", and UTS
#46, of which only the unambiguous part is done: a domain with two readings has no host.
"""

from __future__ import annotations

import re
import unicodedata
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import unquote_to_bytes

_C0_AND_SPACE = "".join(map(chr, range(0x21)))
_REMOVED = re.compile(r"[\t\n\r]")
_SPECIAL = re.compile(r"(?i)https?:[/\\]*([^/\\?#]*)")
_HOST_AND_PORT = re.compile(r"((?:\[[^\]]*\]?|[^:\[])+)(?::([0-9]*))?")
_HIGHEST_PORT = 65535

# RFC 3986, section 3, without the hosts of its section 3.2.2 that no name server knows.
_STRICT = re.compile(
    r"(?ai)https?://(?:[\w.~!$&'()*+,;=:%-]*@)?(\[[0-9a-f:.]+\]|[^\s/?#@:\[\]\\%]+)(?::[0-9]*)?"
    r"(?:[/?#][^\s\\]*)?"
)
_NOT_IN_A_URL = re.compile(r"[\x00-\x20\x7f\"<>\\^`{|}]")

_FORBIDDEN_IN_DOMAIN = re.compile(r"[\x00-\x20\x7f#/:<>?@\[\\\]^|%]")
_IPV4_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+", re.ASCII)
_MAX_HOST_LENGTH = 1000  # a name has 253 characters at most; longer ones are not parsed

# UTS #46: what is left out, and the dots of Chinese and Japanese. NFKC does most of the rest.
_IGNORED = re.compile("[\u00ad\u034f\u180b-\u180d\u180f\u200b\u2060\u2064\ufe00-\ufe0f\ufeff]")
_DOTS = str.maketrans({"\u3002": ".", "\uff0e": ".", "\uff61": "."})
# Characters that NFKC maps differently in the versions of Unicode in use: a dot within, a
# compatibility ideograph.
_MAPPED_DIFFERENTLY = re.compile(
    "[\u2024-\u2026\u2488-\u249b\u33c2\u33c7\u33d8\ufe12\ufe19\ufe30\ufe52\U0001f100\U0002f800-\U0002fa1f]"
)
# Beyond Cyrillic, the set of upper case letters depends on the version, too.
_LAST_CASED = 0x052F
# Letters whose mapping depends on the version, or on their neighbours; and fillers.
_UNCERTAIN = frozenset("\u04c0\u04cf\u0640\u115f\u1160")
_CERTAIN_CATEGORIES = frozenset({"Ll", "Lo", "Lm", "Nd"})


def browser_host(url: str) -> str:
    """Return the host, as ``new URL(url).hostname`` of JavaScript: in ASCII and in lower case.

    An IPv6 address is in brackets. Empty when a browser would reject the URL, when it is neither
    http nor https, and when the host is ambiguous.
    """
    found = _SPECIAL.match(_REMOVED.sub("", url.strip(_C0_AND_SPACE)))
    if found is None:
        return ""
    parts = _HOST_AND_PORT.fullmatch(found.group(1).rpartition("@")[2])
    if parts is None or len(parts.group(1)) > _MAX_HOST_LENGTH:
        return ""
    host, port = parts.groups()
    digits = (port or "").lstrip("0")
    if len(digits) > 5 or int(digits or "0") > _HIGHEST_PORT:
        return ""
    return _ipv6(host) if host.startswith("[") else _domain(host)


def is_read_alike(url: str) -> bool:
    """Whether browsers, and programs that follow RFC 3986, agree on every part of an http(s) URL.

    Such a URL has no character that is invisible, or that some program replaces or removes.
    """
    strict = _STRICT.fullmatch(url)
    if strict is None or _NOT_IN_A_URL.search(url) or not url.isprintable():
        return False
    named, seen = strict.group(1).lower(), browser_host(url)
    if not seen:
        return False
    if named.startswith("["):  # all programs read the many spellings of one address alike
        return True
    if named.isascii():
        return seen == named
    return all(label.isascii() or _is_certain(label) for label in named.split("."))


def _domain(text: str) -> str:
    decoded = unquote_to_bytes(text).decode("utf-8", "replace")
    domain = _to_ascii(decoded)
    if not domain or _FORBIDDEN_IN_DOMAIN.search(domain):
        return ""
    if is_meant_as_ipv4(domain[:-1] if domain.endswith(".") else domain):
        address = parse_canonical_ipv4(domain)
        return "" if address is None else str(IPv4Address(address))
    return domain


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


def _ipv6(text: str) -> str:
    if not text.endswith("]") or "%" in text:
        return ""
    try:
        packed = IPv6Address(text[1:-1]).packed
    except ValueError:
        return ""
    groups = ":".join(f"{high << 8 | low:x}" for high, low in zip(packed[::2], packed[1::2]))
    zeros = sorted(re.findall(r"\b0(?::0)+\b", groups), key=len)
    if zeros:  # the longest row, and of several the first
        head, _, tail = groups.partition(zeros[-1])
        groups = f"{head.rstrip(':')}::{tail.lstrip(':')}"
    return f"[{groups}]"


def _to_ascii(domain: str) -> str:
    """Return a domain in ASCII (UTS #46, ToASCII, nontransitional); empty where it is uncertain."""
    if domain.isascii():
        mapped = domain.lower()
    else:
        text = unicodedata.normalize("NFKC", _IGNORED.sub("", domain).translate(_DOTS))
        if _MAPPED_DIFFERENTLY.search(domain) or any(map(_is_oddly_cased, text)):
            return ""
        mapped = unicodedata.normalize("NFKC", text.lower())
    labels = []
    for label in mapped.split("."):
        encoded = _label_to_ascii(label)
        if encoded is None:
            return ""
        labels.append(encoded)
    return ".".join(labels)


def _is_oddly_cased(character: str) -> bool:
    return character.lower() != character and (
        ord(character) > _LAST_CASED or character in _UNCERTAIN
    )


def _label_to_ascii(label: str) -> str | None:
    if label.startswith("xn--"):
        try:
            decoded = label[4:].encode("ascii").decode("punycode")
        except ValueError:
            return None
        is_sound = not decoded.isascii() and _is_certain(decoded)
        return label if is_sound and _label_to_ascii(decoded) == label else None
    if label.isascii():
        return label
    return f"xn--{label.encode('punycode').decode('ascii')}" if _is_certain(label) else None


def _is_certain(label: str) -> bool:
    """Whether a label in Unicode is valid by every edition of UTS #46, and its own mapping."""
    if label.startswith("xn--") or unicodedata.normalize("NFKC", label).casefold() != label:
        return False
    return all(
        character in "-_0123456789"
        or (
            character not in _UNCERTAIN
            and unicodedata.category(character) in _CERTAIN_CATEGORIES
            and unicodedata.bidirectional(character) == "L"
        )
        for character in label
    )
