"""Tests that run in forks are reported as ever, and so is a fork that ends too early."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support.subprocesses import TOP

SHARES = """
    import os, pytest
    collected_by = os.getpid()

    @pytest.fixture(scope="module")
    def made_by():
        print("made", end=" ")
        return os.getpid()

    def test_first(made_by):
        assert made_by == os.getpid() != collected_by

    def test_second(made_by, tmp_path):
        pass
"""

OUTCOMES = """
    import os, pytest

    def test_fails():
        assert [1] == [2]

    def test_skipped():
        pytest.skip("no reason")

    def test_ends():
        os._exit(7)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere xdist starts workers")
def test_outcomes_are_reported_and_fixtures_of_a_file_are_made_once(tmp_path: Path) -> None:
    for name, source in (("one", SHARES), ("two", SHARES), ("outcomes", OUTCOMES)):
        (tmp_path / f"test_{name}.py").write_text(textwrap.dedent(source))
    words = ["-p", "tests.support.forking", "-p", "no:cacheprovider", "-n", "2", "-rA", "-v"]
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", *words, str(tmp_path)],
        cwd=TOP,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    report = finished.stdout
    assert "2 failed, 4 passed, 1 skipped" in report and finished.returncode == 1
    assert report.count("made ") == 2 and "assert [1] == [2]" in report
    assert set(re.findall(r"(?m)^FAILED \S+::(\w+)", report)) == {"test_fails", "test_ends"}
    assert "the process ended with the exit code 7" in report
