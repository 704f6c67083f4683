"""Bandit reads the package: each finding is explained here, or it is a fault. F-VEND-4."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mcpclient

PACKAGE = Path(mcpclient.__file__).parent

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.version_info < (3, 10), reason="bandit needs Python 3.10"),
]

# By rule: why it is harmless here, and the modules where it is expected; None: anywhere.
EXPLAINED: dict[str, tuple[str, set[str] | None]] = {
    "B101": ("assert narrows types; no check of foreign input is one, see test_costs (-OO)", None),
    "B105": (
        "words of OAuth, DPoP and options: none is a password",
        {"auth/clients.py", "auth/grants.py", "auth/obtaining.py"}
        | {"hints/remote.py", "hints/shell.py"},
    ),
    "B108": (
        "/tmp as a folder that is never granted, and inside a file system of the server's own",
        {"sandbox/confine.py", "sandbox/denials.py", "sandbox/files.py"},
    ),
    "B110": (
        "a finalizer at the end of the interpreter, where modules may be empty",
        {"client/client.py", "client/subscription.py", "sync/manager.py"},
    ),
    "B302": (
        "marshal reads what this program wrote to a file without a name, a line before; and "
        "bytecode, which Python would load as well, to compare it",
        {"sandbox/launcher.py", "vendoring/manifest.py"},
    ),
    "B307": (
        "the program whose purpose is to evaluate a model's code, in a sandbox",
        {"code/program.py"},
    ),
    "B311": ("spreads reconnections; see tests/test_randomness.py", {"transports/backoff.py"}),
    "B406": ("quoteattr writes attributes of XML; no XML is read", {"cli/check.py"}),
    "B404": ("starting servers is the purpose; all of it lies behind the gate", None),
    "B603": (
        "argument lists without a shell; the gate judges what an entry starts",
        {
            *("net/process/stopping.py", "net/process/launch.py", "net/process/programs.py"),
            *("net/tls.py", "sessions/sockets.py"),
        },
    ),
    "B607": ("taskkill is a program of Windows", {"net/process/stopping.py"}),
    "B606": ("the launcher becomes the server that was judged", {"sandbox/launcher.py"}),
}


def findings(path: Path) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "bandit", "-r", "-q", "-f", "json", str(path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    report: dict[str, Any] = json.loads(answer.stdout)
    assert not report["errors"]
    found: list[dict[str, Any]] = report["results"]
    return found


def test_every_finding_is_explained() -> None:
    seen: dict[str, set[str]] = {}
    for finding in findings(PACKAGE):
        path = Path(finding["filename"]).relative_to(PACKAGE).as_posix()
        assert finding["issue_severity"] != "HIGH", finding
        assert finding["test_id"] in EXPLAINED, finding
        modules = EXPLAINED[finding["test_id"]][1]
        assert modules is None or path in modules, finding
        seen.setdefault(finding["test_id"], set()).add(path)
    for rule, (_, modules) in EXPLAINED.items():
        assert rule in seen and (modules is None or modules == seen[rule]), f"{rule} has gone"


def test_a_new_finding_is_seen(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import hashlib, subprocess\nsubprocess.run('ls', shell=True)\n")
    assert {each["test_id"] for each in findings(program)} >= {"B602", "B404"}
