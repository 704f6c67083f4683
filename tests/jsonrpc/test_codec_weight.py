"""What JSON takes in memory, and what is not decoded because of that: F-WIRE-7."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.jsonrpc import codec
from mcpclient.jsonrpc.codec import MalformedMessage, decode, takes_too_much, weight_of
from mcpclient.protocol.types import LogMessage


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousandth of every bound."""
    monkeypatch.setattr(codec, "MAX_MEMORY", 512 * 1024)
    monkeypatch.setattr(codec, "_HARMLESS", codec._HARMLESS // 1024)


@pytest.mark.parametrize("unit", ["[],", "{},", '{"":0},', '"",', "0,", "[[]],"])
def test_many_small_values_are_not_decoded(unit: str) -> None:
    """F-WIRE-7: 60 MB of them cost 1.5 GB and more; the call they answer fails with the reason."""
    text = '{"jsonrpc":"2.0","id":7,"result":{"a":[' + unit * (60_000 // len(unit)) + "0]}}"
    with pytest.raises(MalformedMessage, match=r"its values would take over 0\.5 MiB") as caught:
        decode(text)
    assert caught.value.request_id == 7
    few = '{"a":[' + unit * 100 + "0]}"
    assert decode(few)


@pytest.mark.parametrize(
    "text",
    [
        "[" + "1.25," * 12_000 + "0]",
        "[" + '{"id":123,"name":"abc","x":1.5},' * 1_900 + "0]",
        '{"csv":"' + r"a,b,[c],{d}\n\"," * 4_000 + '"}',
        '{"text":"' + "x" * 60_000 + '"}',
        "[" * 500 + "]" * 500,
    ],
)
def test_what_is_in_proportion_is_decoded(text: str) -> None:
    """F-WIRE-7: numbers, rows of a table, and text that only looks like many values."""
    assert not takes_too_much(text)
    assert decode(text)


def test_so_many_strings_are_not_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '{"csv":"' + "a,b,[c],{d}" * 5_000 + '"}'
    assert not takes_too_much(text)
    monkeypatch.setattr(codec, "_MAX_QUOTES", 3)
    assert takes_too_much(text)


def test_short_text_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-WIRE-7: what is decoded all day costs nothing more."""
    monkeypatch.setattr(codec, "_estimated", None)
    assert decode('{"a":[1,2,3]}') == {"a": [1, 2, 3]}


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [
        ("x" * 1000, 1000, 1100),
        ({"a": ["x" * 1000] * 3}, 3000, 4000),
        (LogMessage({"data": "x" * 1000}), 1000, 2000),
        (ValueError("x" * 1000), 1000, 1200),
        ([1, 2.5, None, True], 100, 300),
    ],
)
def test_the_weight_of_a_value(value: Any, least: int, most: int) -> None:
    assert least <= weight_of(value, 10**9) <= most
    assert weight_of([value] * 1000, 50) < most + 200


def test_the_weight_of_a_deep_value() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    test_the_weight_of_a_value(value, 5_000_000, 7_000_000)
