"""Which internet addresses a server may send a client to.

The tables follow the IANA special-purpose registries for IPv4 and IPv6. They stand here in full,
because what `ipaddress` calls private differs between Python versions.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

_IPV4_RANGES = [
    (IPv4Network(network), reason)
    for network, reason in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "reserved"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "reserved"),
        ("198.51.100.0/24", "reserved"),
        ("203.0.113.0/24", "reserved"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
    )
]

_IPV6_RANGES = [
    (IPv6Network(network), reason)
    for network, reason in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
        ("2001::/32", "Teredo"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "reserved"),
        ("3fff::/20", "reserved"),
    )
]

_GLOBAL_UNICAST = IPv6Network("2000::/3")

# IPv6 addresses with an IPv4 address in them, and how far its last bit is from the end.
_EMBEDDING = [
    (IPv6Network("::ffff:0:0/96"), 0, "IPv4-mapped"),
    (IPv6Network("::/96"), 0, "IPv4-compatible"),
    (IPv6Network("64:ff9b::/96"), 0, "NAT64"),
    (IPv6Network("2002::/16"), 80, "6to4"),
]

# The last part has to stay below this, by the number of parts (inet_aton(3)).
_LAST_PART_LIMIT = {1: 1 << 32, 2: 1 << 24, 3: 1 << 16, 4: 1 << 8}

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+", re.ASCII)


def is_meant_as_ipv4(host: str) -> bool:
    """Whether a host without a trailing dot is an IPv4 address or nothing: it ends in a number."""
    return _NUMBER.fullmatch(host.rpartition(".")[2]) is not None


def parse_canonical_ipv4(text: str) -> int | None:
    """The IPv4 address that ``text`` spells, as a number, or None when it spells none.

    Takes what inet_aton takes: one to four parts, each decimal, octal (leading ``0``) or
    hexadecimal (leading ``0x``), the last part filling what is left; and one trailing dot.
    """
    parts = text[:-1].split(".") if text.endswith(".") else text.split(".")
    if not 1 <= len(parts) <= 4:
        return None
    numbers = []
    for part in parts:
        number = _parse_number(part)
        if number is None:
            return None
        numbers.append(number)
    *leading, last = numbers
    if last >= _LAST_PART_LIMIT[len(parts)] or any(number > 255 for number in leading):
        return None
    address = last
    for position, number in enumerate(leading):
        address |= number << (24 - 8 * position)
    return address


def _parse_number(part: str) -> int | None:
    # Far more digits than any address has; int() of a megabyte would take its time.
    if len(part) > 64 or not _NUMBER.fullmatch(part):
        return None
    if part[:2].lower() == "0x":
        return int(part[2:] or "0", 16)
    if part[0] == "0":
        return int(part, 8) if not set(part) & set("89") else None
    return int(part)


def forbidden_reason(address: IPv4Address | IPv6Address) -> str | None:
    """Why no server may send a client to ``address``, or None when it is a public one.

    The reason is a word or two that name the kind of address: "loopback", "IPv4-mapped private".
    """
    if isinstance(address, IPv4Address):
        return next((reason for network, reason in _IPV4_RANGES if address in network), None)
    if getattr(address, "scope_id", None) is not None:
        return "zoned"
    for network, reason in _IPV6_RANGES:
        if address in network:
            return reason
    for network, shift, name in _EMBEDDING:
        if address in network:
            embedded = forbidden_reason(IPv4Address((int(address) >> shift) & 0xFFFFFFFF))
            # Networks without IPv4 reach public hosts through NAT64; the others are not in use.
            if embedded is None and name == "NAT64":
                return None
            return f"{name} {embedded}" if embedded else name
    return None if address in _GLOBAL_UNICAST else "reserved"
