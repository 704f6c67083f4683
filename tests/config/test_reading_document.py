"""F-MANY-7: the text of a configuration file as a value that knows its lines."""

from __future__ import annotations

import sys

import pytest

from mcpclient.config import reading
from mcpclient.config.reading import DocumentError, read_document, repeated_keys

has_toml = pytest.mark.skipif(sys.version_info < (3, 11), reason="needs tomllib")

JSON = b'\xef\xbb\xbf{ // comment\r\n"a": [1,\n {"b": 2}],\n"a": [\n{"c": 1, "c": 2}]}'


def test_the_lines_of_json() -> None:
    """F-MANY-7"""
    found = read_document(JSON, "x.json")
    assert found.value == {"a": [{"c": 2}]}
    assert found.line(["a"]) == 4
    assert found.line(["a", 0]) == 5
    assert found.line(["a", 0, "c", "d"]) == 5
    assert found.line(["a", 7]) == 4
    assert found.line(["b"]) is None
    assert list(repeated_keys(found.value)) == [("a",), ("a", 0, "c")]
    assert found.line(("a", 0, "c")) == 5


@has_toml
def test_the_lines_of_toml() -> None:
    found = read_document(b'a = 1\n[servers.x]\ncommand = "y"\n', ".codex/config.toml")
    assert found.value == {"a": 1, "servers": {"x": {"command": "y"}}}
    assert found.line(["servers", "x", "command"]) == 3
    assert found.line(["servers", "z"]) == 2
    assert list(repeated_keys(found.value)) == []


def test_yaml() -> None:
    text = b"---\nname: x\nmcpServers:\n  - name: a\n    args:\n      - b\n"
    found = read_document(text, "x.yaml")
    assert found.value == {"name": "x", "mcpServers": [{"name": "a", "args": ["b"]}]}
    assert found.line(["mcpServers", 0, "args"]) == 5


BROKEN = [
    ("x.json", b'{\n"a": }', 2, "it is not JSON: '}' stands where a value should"),
    ("x.json", b'{\n"a": "\xff"}', 2, "it is not UTF-8"),
    ("x.json", b"\xff\xfe{\0}\0", 1, "it is not UTF-8"),
    ("x.yaml", b"---\na: 1\n\tb: c\n", 3, "unsupported YAML: "),
]


@pytest.mark.parametrize(("name", "content", "line", "reason"), BROKEN)
def test_what_cannot_be_read(name: str, content: bytes, line: int, reason: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_document(content, name)
    assert caught.value.line == line
    assert str(caught.value).startswith(reason)


@has_toml
@pytest.mark.parametrize(
    ("content", "line"),
    [(b"a = 1\nb = ", 2), (b"a = 1\na = [}\n", 2), (b"a = " + b"[" * 100_000, None)],
)
def test_what_is_not_toml(content: bytes, line: int | None) -> None:
    with pytest.raises(DocumentError, match="it is not TOML") as caught:
        read_document(content, "config.toml")
    assert line is None or caught.value.line == line


def test_toml_without_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-MANY-7: where Python has no tomllib, a problem says so."""
    monkeypatch.setattr(reading, "tomllib", None)
    with pytest.raises(DocumentError, match=r"Python 3\.11"):
        read_document(b"a = 1", "config.toml")


@has_toml
@pytest.mark.parametrize(
    "content",
    [
        b"a" + b".a" * 200_000 + b" = 1",
        b"\n".join(b"b%d" % n + b".a" * 1_000 + b" = 1" for n in range(50)),
        b"[a" + b".a" * 1_000 + b"]\n" + b"\n".join(b"b%d.c = 1" % n for n in range(20_000)),
        b"[[x]]\n" * 2 + b"[" + b"a." * 100_000 + b"a]",
        '"\u2028"'.encode() + '."\u2028"'.encode() * 4_000 + b" = 1",  # no line of TOML ends here
    ],
)
def test_toml_of_quadratic_cost_is_refused(content: bytes) -> None:
    """F-MANY-7: before the parser sees it."""
    with pytest.raises(DocumentError, match="dotted names have too many parts") as caught:
        read_document(content, "config.toml")
    assert caught.value.line is not None


@has_toml
def test_toml_that_is_nested_too_deep() -> None:
    with pytest.raises(DocumentError, match="nested more than 100 deep"):
        read_document(b"a" + b".a" * 200 + b" = 1", "config.toml")
    text = "word. " * 2_000
    assert read_document(f'a.b.c = "{text}"'.encode(), "config.toml").value["a"]["b"]["c"] == text
