"""``mcpclient vendor``, as it is typed: F-VEND-1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcpclient.cli.main import main
from mcpclient.vendoring.manifest import verify
from mcpclient.vendoring.parts import PARTS


def test_a_copy_is_made_and_made_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """F-VEND-1"""
    copy = tmp_path / "client_copy"
    assert main(["vendor", str(copy), "--with", "http, sync"]) == 0
    printed = capsys.readouterr().out
    assert "parts: stdio, http" in printed
    assert "verify it with: python3 -m client_copy verify" in printed
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


def test_the_parts_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """F-VEND-1"""
    assert main(["vendor", "--parts", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["parts"]) == list(PARTS)


@pytest.mark.parametrize(
    ("words", "told"),
    [([], "vendor needs the folder"), (["x", "--with", "htpp"], "did you mean 'http'")],
)
def test_what_cannot_be_copied_is_told(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """F-VEND-1"""
    assert main(["vendor", *words]) == 2
    assert told in capsys.readouterr().err
