"""Formats: annotations unless asked for, then tests: F-API-17."""

from __future__ import annotations

from mcpclient.protocol.schema import compile_schema
from tests.support.tables import each_row

FORMATS: dict[str, tuple[list[str], list[str]]] = {
    "date-time": (
        ["2024-02-29T12:00:00Z", "1998-12-31T15:59:60.123-08:00", "2024-01-01t00:00:00z"],
        [
            *("2023-02-29T12:00:00Z", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00", "x"),
            "1900-02-29T00:00:00Z",
        ],
    ),
    "date": (["2000-02-29", "2024-12-31"], ["2024-13-01", "2024-00-01", "2024-04-31", "2024-1-1"]),
    "time": (
        ["00:00:00Z", "23:59:59.999+23:59", "23:59:60Z"],
        ["24:00:00Z", "00:60:00Z", "00:00:61Z", "00:00:00", "00:00:00+24:00", "00:00:00+00:60"],
    ),
    "email": (
        ["joe.b+x@example.com", '"joe b"@example.com'],
        ["joe", ".a@b", "a..b@c", "a@-b", "a@", "ä@b.c", "a b@c"],
    ),
    "hostname": (
        ["example.com", "a-b.c1", "xn--4gbwdl.xn--wgbh1c", "a"],
        ["-a", "a-", "a_b", "a..b", "", "a" * 64, "ab--c", ".".join(["a" * 60] * 5)],
    ),
    "ipv4": (
        ["127.0.0.1", "255.255.255.255"],
        ["256.0.0.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.4."],
    ),
    "ipv6": (
        ["::", "::1", "1:2:3:4:5:6:7:8", "1::8", "::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4", "1::"],
        [
            *("1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::1::2", "12345::", "1.2.3.4"),
            *("::1.2.3", "1:2:3:4:5:6:7:8::", ":1::2", "1.2.3.4::", "::g"),
        ],
    ),
    "uri": (
        ["http://a.b:80/c?d#e", "urn:x:y", "http://[::1]/", "http://u:p@h/", "a:%20"],
        [
            *("/a", "a b:c", "http://[::g]/", "http://a:b/", "a:%2", "http://ä/", "//a"),
            *("http://u[@h/", "http://u@v@h/", "1a:b", "http://a[b]/"),
        ],
    ),
    "uuid": (
        ["2EB8AA08-aa98-11ea-b4aa-73b441d16380"],
        ["2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08aa9811eab4aa73b441d16380"],
    ),
}


@each_row("name", FORMATS)
def test_formats_are_asserted_when_asked_for(name: str) -> None:
    """F-API-17: a format is an annotation by default, and a test by option."""
    valid, invalid = FORMATS[name]
    schema = compile_schema({"format": name}, assert_formats=True)
    for text in valid:
        assert schema.validate(text) == [], text
    for text in invalid:
        assert schema.validate(text), text
        assert compile_schema({"format": name}).validate(text) == []
    assert schema.validate(1) == []
