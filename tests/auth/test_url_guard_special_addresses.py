from __future__ import annotations

from ipaddress import ip_address

from mcpclient.auth.url_guard import forbidden_reason
from tests.support.tables import each_row


@each_row(
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
