from __future__ import annotations

from ipaddress import IPv4Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.auth.url_guard import (
    forbidden_reason,
)
from mcpclient.framing.browser_url import is_meant_as_ipv4, parse_canonical_ipv4
from tests.support.properties import examples


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1",
        "127.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0X7F000001",
        "017700000001",
        "0x7f.0.0.1",
        "0177.0.0.01",
        "0x7f.1",
        "127.0x000001",
        "0x7f.0.0x0.0x1",
        "127.0.0.1.",
        "127.00.000.0001",
    ],
)
def test_every_spelling_of_loopback_is_read(text: str) -> None:
    """F-AUTH-10: one to four parts, decimal, octal and hexadecimal."""
    assert parse_canonical_ipv4(text) == int(IPv4Address("127.0.0.1"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "1.2.3.4.5",
        "256.0.0.1",
        "1.2.3.256",
        "1.2.65536",
        "1.16777216",
        "4294967296",
        "08.0.0.1",
        "1..2",
        "1.2.3.",
        ".1",
        "0xg",
        "a.b",
        "-1",
        "+1",
        "1e3",
        "1_0",
        " 1",
        "127.0.0.1..",
        "１２７.0.0.1",
        "9" * 10_000,  # more than `int` takes
    ],
)
def test_what_is_no_address_is_none(text: str) -> None:
    """F-AUTH-10: inet_aton would refuse it as well (`1.2.3.` has three parts)."""
    expected = int(IPv4Address("1.2.0.3")) if text == "1.2.3." else None
    assert parse_canonical_ipv4(text) == expected


def test_a_bare_0x_is_zero() -> None:
    """F-AUTH-10: some resolvers read it so."""
    assert parse_canonical_ipv4("0x") == 0


@examples(60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.lists(st.sampled_from("dox"), min_size=4, max_size=4),
)
def test_any_spelling_of_any_address_is_read(number: int, count: int, bases: list[str]) -> None:
    """F-AUTH-10: spelled as inet_aton takes it, every address comes back."""
    octets = list(number.to_bytes(4, "big"))
    parts = [*octets[: count - 1], int.from_bytes(bytes(octets[count - 1 :]), "big")]
    spell = {"d": "{}", "o": "0{:o}", "x": "{:#x}"}
    text = ".".join(spell[base].format(part) for base, part in zip(bases, parts))
    assert parse_canonical_ipv4(text) == number


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("0.0.0.0", "unspecified"),
        ("10.1.2.3", "private"),
        ("100.64.0.1", "carrier-grade NAT"),
        ("100.127.255.255", "carrier-grade NAT"),
        ("127.255.255.254", "loopback"),
        ("169.254.169.254", "link-local"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("192.0.0.8", "reserved"),
        ("192.0.2.1", "reserved"),
        ("192.88.99.1", "reserved"),
        ("198.19.0.1", "reserved"),
        ("198.51.100.1", "reserved"),
        ("203.0.113.7", "reserved"),
        ("224.0.0.1", "multicast"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "broadcast"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("fc00::1", "private"),
        ("fd12:3456::1", "private"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "zoned"),
        ("fec0::1", "private"),
        ("ff02::1", "multicast"),
        ("::ffff:127.0.0.1", "IPv4-mapped loopback"),
        ("::ffff:8.8.8.8", "IPv4-mapped"),
        ("::127.0.0.1", "IPv4-compatible loopback"),
        ("64:ff9b::10.0.0.1", "NAT64 private"),
        ("64:ff9b:1::1", "reserved"),
        ("2002:7f00:1::", "6to4 loopback"),
        ("2002:808:808::", "6to4"),
        ("2001:0:1::1", "Teredo"),
        ("2001:10::1", "reserved"),
        ("2001:db8::1", "reserved"),
        ("3fff::1", "reserved"),
        ("100::1", "reserved"),
        ("4000::1", "reserved"),
    ],
)
def test_special_addresses_are_forbidden(address: str, reason: str) -> None:
    """F-AUTH-10: loopback, link-local, private, CGNAT, reserved and multicast, in IPv6 too."""
    assert forbidden_reason(ip_address(address)) == reason


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "100.63.255.255", "172.32.0.1", "2606:4700::1111", "64:ff9b::8.8.8.8"],
)
def test_public_addresses_are_not(address: str) -> None:
    """F-AUTH-10: NAT64 is how networks without IPv4 reach public hosts."""
    assert forbidden_reason(ip_address(address)) is None


@pytest.mark.parametrize("host", ["127.1", "0x7f", "1.2.3.4.5", "host.0x", "256"])
def test_a_host_that_ends_in_a_number_is_no_name(host: str) -> None:
    """F-AUTH-10: it is an IPv4 address, or nothing."""
    assert is_meant_as_ipv4(host)
    assert not is_meant_as_ipv4(f"{host}.example")
