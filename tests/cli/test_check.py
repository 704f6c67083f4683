"""``check`` and ``call --strict``: a judgement of a server for its author and for CI."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from mcpclient.cli.check import CODES
from mcpclient.cli.help import chapter
from mcpclient.cli.main import main
from tests.cli.odd_servers import DEMO, ending, offering, python
from tests.inspector.scenes import FAULTY

Capture = pytest.CaptureFixture[str]
DEMO_SERVER = ["--", sys.executable, DEMO]
DESCRIBED: dict[str, Any] = {
    "name": "t",
    "description": "Does it.",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}


def checked(capfd: Capture, *words: str, code: int | None = None) -> dict[str, Any]:
    exit_code = main(["check", "--json", "--quiet", *words])
    out, _ = capfd.readouterr()
    assert code is None or exit_code == code, out
    report: dict[str, Any] = json.loads(out)
    return report


def codes(report: dict[str, Any]) -> set[str]:
    return {each["code"] for each in report["findings"]}


# By code: a server, and words of the finding.
FINDINGS: dict[str, tuple[list[str], str]] = {
    "not-json-rpc": (offering([DESCRIBED], before="print('hello', flush=True)\n"), "stdout"),
    "result": (offering([DESCRIBED, {"name": "u"}]), "'inputSchema' is missing"),
    "tool-name": (offering([{**DESCRIBED, "name": "a b"}]), "1 to 128 letters"),
    "duplicate": (offering([DESCRIBED, DESCRIBED]), "another entry"),
    "tool-schema": (
        offering([{**DESCRIBED, "inputSchema": {"type": "object", "minProperties": "x"}}]),
        "not a usable JSON Schema",
    ),
    "model-schema": (offering([{**DESCRIBED, "name": "a.b"}]), "does not accept its name"),
    "invisible": (offering([{**DESCRIBED, "description": "Do\u200b it"}]), "U+200B"),
    "no-description": (offering([{**DESCRIBED, "description": " "}]), "no description"),
    "no-annotations": (offering([{**DESCRIBED, "annotations": None}]), "readOnlyHint"),
    "request-failed": (offering({"t": 1}), "not a list"),
    "left-running": (
        offering([DESCRIBED], before="import subprocess, sys; subprocess.Popen(['sleep', '60'])\n"),
        "did not end",
    ),
    "no-connection": (ending("no"), "exited with code 1"),
}


@pytest.mark.quick_rows(3)
@pytest.mark.parametrize("code", FINDINGS)
def test_a_finding_has_its_code(code: str, capfd: Capture) -> None:
    """F-SHOW-27: and a sound server has no finding."""
    server, words = FINDINGS[code]
    found = [each for each in checked(capfd, *server)["findings"] if each["code"] == code]
    assert any(words in each["text"] for each in found), found
    assert {each["severity"] for each in found} == {CODES[code][0]}


def test_a_sound_server_passes_in_both_eras(capfd: Capture) -> None:
    """F-SHOW-27: with its calls; the definitions' tokens are counted for five model APIs."""
    report = checked(capfd, "--call", "add a=1 b=2", "--all-read-only", *DEMO_SERVER, code=0)
    assert report["revisions"] == ["2026-07-28", "2025-11-25"]
    assert [each for each in report["findings"] if each["severity"] == "error"] == []
    assert len(report["tokens"]) == 5
    assert all(tokens > 0 for tokens in report["tokens"].values())


def test_calls_are_judged_and_findings_decide_the_exit_code(tmp_path: Path, capfd: Capture) -> None:
    """F-SHOW-27: `--ignore`, `--fail-on`, `--call` and `--junit`."""
    server = ["--", sys.executable, FAULTY]
    call = ("--call", "unknown_block")
    report = checked(capfd, *call, *server, code=1)
    (found,) = [each for each in report["findings"] if each["severity"] == "error"]
    assert (found["code"], found["where"]) == ("result", "tools/call unknown_block")
    assert found["clause"] == "2025-11-25/schema#calltoolresult"
    assert "result" not in codes(checked(capfd, *call, "--ignore", "result", *server, code=0))
    checked(capfd, *call, "--fail-on", "never", *server, code=0)
    junit = tmp_path / "report.xml"
    checked(capfd, "--fail-on", "warning", "--junit", str(junit), *server, code=1)
    suite = ElementTree.parse(junit).getroot()
    assert suite.get("tests") == str(len(CODES)) == str(len(suite.findall("testcase")))
    assert suite.get("failures") == str(len(suite.findall("testcase[failure]"))) == "2"


def test_examples_are_values_and_not_words(tmp_path: Path, capfd: Capture) -> None:
    """F-SHOW-27: an example that a server gives never names a file that is sent."""
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "string", "examples": [f"@{secret}"]}},
    }
    trace = tmp_path / "trace.jsonl"
    tool = {**DESCRIBED, "inputSchema": schema}
    checked(capfd, "--all-read-only", "--trace", str(trace), *offering([tool]))
    text = trace.read_text()
    assert "tools/call" in text
    assert "s3cret" not in text


def test_the_guide_has_all_codes() -> None:
    """F-SHOW-27"""
    text = chapter("testing")
    for code, (severity, meaning) in CODES.items():
        assert f"| `{code}` | {severity} | {meaning} |" in text


@pytest.mark.parametrize(
    ("tool", "code", "said"),
    [("unknown_block", 5, "violation: result: tools/call unknown_block"), ("json_text", 0, "")],
)
def test_a_strict_call_tells_violations(tool: str, code: int, said: str, capfd: Capture) -> None:
    """F-SHOW-24"""
    assert main(["call", tool, "--strict", "--", sys.executable, FAULTY]) == code
    assert said in capfd.readouterr().err


def test_the_doctor_judges_the_messages(capfd: Capture) -> None:
    """F-SHOW-24"""
    server = python(
        "import runpy, sys; sys.argv[1:] = ['--malformed']; "
        f"runpy.run_path({FAULTY!r}, run_name='__main__')"
    )
    main(["doctor", "--json", *server])
    checks = {each["name"]: each for each in json.loads(capfd.readouterr().out)["checks"]}
    assert checks["protocol"]["status"] == "warning"
    assert "experimental.load" in checks["protocol"]["found"]
