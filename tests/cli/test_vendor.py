"""``mcpclient vendor``, as it is typed: F-VEND-1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcpclient.cli.main import main
from mcpclient.cli.vendor import _imported_as
from mcpclient.vendoring.manifest import verify
from mcpclient.vendoring.parts import PARTS
from tests.support.copies import read_package_once

_once = pytest.fixture(autouse=True)(read_package_once)


@pytest.mark.parametrize(
    ("destination", "root", "name"),
    [
        ("mcp", "", "mcp"),
        ("acme/_vendor/mcp", "", "acme._vendor.mcp"),
        ("src/acme/_vendor/mcp", "src", "acme._vendor.mcp"),
        ("my-project/src/acme/mcp/", "my-project/src", "acme.mcp"),
        ("/nowhere/acme/_vendor/mcp", "/nowhere/acme", "_vendor.mcp"),
    ],
)
def test_a_copy_is_verified_by_its_whole_name(destination: str, root: str, name: str) -> None:
    """F-VEND-1: from the folder that is in Python's path."""
    assert _imported_as(destination) == (root, name)


@pytest.mark.slow
def test_a_copy_is_made_and_made_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """F-VEND-1"""
    copy = tmp_path / "client_copy"
    assert main(["vendor", str(copy), "--with", "http, sync"]) == 0
    printed = capsys.readouterr().out
    assert "parts: stdio, http" in printed
    assert f"verify it with: cd {tmp_path} && python3 -m client_copy verify" in printed
    assert verify(copy).is_intact
    assert main(["vendor", str(copy)]) == 2
    assert "--update" in capsys.readouterr().err
    assert main(["vendor", str(copy), "--update"]) == 0
    assert "nothing has changed" in capsys.readouterr().out
    (copy / "net" / "http.py").write_text("")
    assert main(["vendor", str(copy), "--update"]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["vendor", str(copy), "--update", "--force", "--without", "sync"]) == 0
    assert "changed: " in capsys.readouterr().out


@pytest.mark.slow
def test_the_parts_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """F-VEND-1"""
    assert main(["vendor", "--parts", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["parts"]) == list(PARTS)
