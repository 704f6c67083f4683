"""``info``: who the server is, and what it can do."""

from __future__ import annotations

from tests.cli.in_process import ask


def test_it_says_who_and_what() -> None:
    """F-SHOW-1"""
    assert ask("info").text.splitlines() == [
        "server        Demo server (demo-server 1.0.0)",
        "revision      2025-11-25",
        "transport     in-process",
        "capabilities  completions, prompts, resources, tools",
        "",
        "Call echo, add, count or fail. Nothing here does any harm.",
    ]


def test_the_stateless_era_looks_the_same() -> None:
    """F-SHOW-1"""
    assert ask("info", revision="2026-07-28").raw["protocolVersion"] == "2026-07-28"


def test_the_raw_form_is_what_the_server_declared() -> None:
    """F-SHOW-2"""
    raw = ask("info").raw
    assert raw["serverInfo"]["name"] == "demo-server"
    assert raw["capabilities"] == {
        "tools": {},
        "resources": {},
        "prompts": {},
        "completions": {},
    }
    assert raw["transport"] == "in-process"
    assert raw["instructions"].startswith("Call echo")


def test_a_server_that_says_little_and_one_that_says_evil_things() -> None:
    """F-SHOW-3"""
    silent = {"protocolVersion": "2025-11-25", "capabilities": {}}
    text = ask("info", answers={"initialize": silent}).text
    assert "server        unknown" in text
    assert text.endswith("capabilities  none")
    evil = {
        **silent,
        "serverInfo": {"name": "\x1b[2J", "version": "1"},
        "capabilities": {"tools": {"listChanged": True, "x": False}, "odd\x1b": 1},
        "instructions": "\x1b[31mred",
    }
    text = ask("info", answers={"initialize": evil}).text
    assert "\x1b" not in text
    assert r"odd\x1b, tools (listChanged)" in text
