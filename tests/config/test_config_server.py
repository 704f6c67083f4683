"""One server of a configuration."""

from __future__ import annotations

from typing import Any

from mcpclient.config.config import ServerConfig

RAW = {"command": "npx", "args": ["-y", "a"], "env": {"A": "${A}", "B": "b"}, "cwd": "x"}


def written(raw: Any, **fields: Any) -> str:
    return ServerConfig("a", raw=raw, **fields).fingerprint()


def test_neither_space_nor_order_changes_the_fingerprint() -> None:
    """F-MANY-7: it covers the entry as written."""
    swapped = {key: RAW[key] for key in reversed(RAW)}
    assert written(RAW) == written(swapped, target=["other"], options={"env": {"A": "value"}})
    assert len(written(RAW)) == 64


def test_everything_else_changes_the_fingerprint() -> None:
    others = [
        {**RAW, "args": ["a", "-y"]},
        {**RAW, "args": ["-y a"]},
        {**RAW, "env": {"A": "${A}"}},
        {**RAW, "env": {"A": "${A}", "B": 1}},
        {**RAW, "cwd": "y"},
        {**RAW, "envFile": ".env"},
        {**RAW, "headers": {}},
    ]
    assert len({written(raw) for raw in [RAW, *others]}) == len(others) + 1


def test_a_server_made_in_code_is_known_by_target_and_options() -> None:
    """F-MANY-6: same name and configuration."""
    one = ServerConfig("a", target=["npx", "b"], options={"env": {"A": "b"}})
    same = ServerConfig("a", target=("npx", "b"), options={"env": {"A": "b"}})
    other = ServerConfig("a", target=["npx", "b"], options={"env": {"A": "c"}})
    assert one.fingerprint() == same.fingerprint() != other.fingerprint()
    assert ServerConfig("a", target=object()).fingerprint()  # type: ignore[arg-type]


def test_no_value_is_shown() -> None:
    """F-AUTH-12"""
    server = ServerConfig(
        "a", target=["npx", "SECRET"], options={"env": {"A": "SECRET"}}, raw={"env": "SECRET"}
    )
    assert "SECRET" not in repr(server)
    assert hash(server) == hash(ServerConfig("a"))
