"""``resources``: what can be read: F-SHOW-1."""

from __future__ import annotations

import pytest

from mcpclient import PeerError
from tests.cli.in_process import ask


def test_resources_and_templates_are_listed() -> None:
    answer = ask("resources")
    assert answer.text.splitlines() == [
        "RESOURCE       TYPE        DESCRIPTION",
        "demo://readme  text/plain  A short text",
        "demo://pixel   image/png   A very small image",
        "",
        "TEMPLATE                TYPE        DESCRIPTION",
        "demo://greeting/{name}  text/plain  A greeting for anyone",
    ]
    assert [item["name"] for item in answer.raw["resources"]] == ["readme", "pixel"]
    assert answer.raw["resourceTemplates"][0]["uriTemplate"] == "demo://greeting/{name}"


def test_a_server_need_not_know_templates() -> None:
    unknown = {"resources/templates/list": {"code": -32601, "message": "Method not found"}}
    answer = ask("resources", answers=unknown)
    assert "TEMPLATE" not in answer.text
    assert answer.raw["resourceTemplates"] == []


def test_other_errors_are_not_hidden() -> None:
    broken = {"resources/templates/list": {"code": -32603, "message": "broken"}}
    with pytest.raises(PeerError, match="broken"):
        ask("resources", answers=broken)


def test_no_resources() -> None:
    nothing: dict[str, dict[str, object]] = {
        "resources/list": {"resources": []},
        "resources/templates/list": {"resourceTemplates": []},
    }
    assert ask("resources", answers=nothing).text == "no resources"
