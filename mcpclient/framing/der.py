"""Facts of certificates (X.509, RFC 5280) in DER: the issuer, and the hash of the signature."""

from __future__ import annotations

from collections.abc import Iterator

_CONTEXT_0 = 0xA0  # the version of a certificate, which the oldest form does not have
_NAMES = {  # attributes of a name (2.5.4.n) that say who it is, the best one first
    bytes.fromhex("550403"): "common name",
    bytes.fromhex("55040b"): "unit",
    bytes.fromhex("55040a"): "organization",
}
_LONGEST = 200  # characters of a name
_STRINGS = {0x1E: "utf-16-be", 0x1C: "utf-32-be", 0x14: "latin-1"}

# The ends of object identifiers of signatures, after the family's; RSASSA-PSS and others name
# the hash by an identifier of its own.
_RSA, _ECDSA = bytes.fromhex("2a864886f70d0101"), bytes.fromhex("2a8648ce3d0403")
_SHA_2 = bytes.fromhex("6086480165030402")
_HASHES = {
    **{_RSA + bytes([end]): "sha256" for end in (4, 5, 11)},  # MD5 and SHA-1 count as SHA-256
    **{_RSA + bytes([12]): "sha384", _RSA + bytes([13]): "sha512"},
    bytes.fromhex("2a8648ce3d0401"): "sha256",
    **{_ECDSA + bytes([2]): "sha256", _ECDSA + bytes([3]): "sha384", _ECDSA + bytes([4]): "sha512"},
    **{_SHA_2 + bytes([1]): "sha256", _SHA_2 + bytes([2]): "sha384", _SHA_2 + bytes([3]): "sha512"},
}


def _elements(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the tag and the content of each element. Raises `ValueError` or `IndexError`."""
    position = 0
    while position < len(der):
        tag, length = der[position], der[position + 1]
        position += 2
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(der[position : position + size], "big")
            position += size
        if position + length > len(der):
            raise ValueError("an element is cut short")
        yield tag, der[position : position + length]
        position += length


def issuer_of(certificate: bytes) -> str:
    """Return who issued a certificate, in words; empty where that cannot be read."""
    try:
        [(_, content)] = _elements(certificate)
        (_, signed), *_ = _elements(content)
        parts = [part for tag, part in _elements(signed) if tag != _CONTEXT_0]
        found: dict[bytes, str] = {}
        for _, relative in _elements(parts[2]):
            for _, attribute in _elements(relative):
                (_, kind), (tag, value) = _elements(attribute)
                found[kind] = value.decode(_STRINGS.get(tag, "utf-8"), "replace")
    except (ValueError, IndexError):
        return ""
    names = dict.fromkeys(found[kind] for kind in _NAMES if kind in found)
    return ", ".join(names)[:_LONGEST]


def signature_hash(certificate: bytes) -> str:
    """Return the name of the hash for a channel binding to a certificate (RFC 5929, section 4.1).

    Empty where its signature has none, or more than one.
    """
    try:
        [(_, content)] = _elements(certificate)
        _, (_, algorithm), _ = _elements(content)
        (_, kind), *_ = _elements(algorithm)
    except (ValueError, IndexError):
        return ""
    found = {name for end, name in _HASHES.items() if end == kind or end in algorithm[len(kind) :]}
    return found.pop() if len(found) == 1 else ""
