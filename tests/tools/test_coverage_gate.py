"""The coverage gate judges a small project of its own, with the real configuration."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.tools import coverage_gate
from tests.tools.coverage_gate import expected_test, lines_of_functions, own_test_pattern, ranges

TOP = Path(__file__).parent.parent.parent


@pytest.mark.parametrize(
    ("module", "test"),
    [
        ("hints.py", "tests/test_hints.py"),
        ("framing/sse.py", "tests/framing/test_sse.py"),
        ("protocol/schema/values.py", "tests/protocol/schema/test_values.py"),
        ("__init__.py", "tests/test_exports.py"),
        ("cli/__init__.py", "tests/cli/test_init.py"),
    ],
)
def test_the_test_file_of_a_module(module: str, test: str) -> None:
    assert expected_test(module) == test


def test_contexts_of_own_tests() -> None:
    own = re.compile(own_test_pattern("framing/sse.py"))
    assert own.match("tests/framing/test_sse.py::test_one")
    assert own.match("tests/framing/test_sse_limits.py::TestClass::test_two")
    assert not own.match("tests/framing/test_ssl.py::test_one")
    assert not own.match("tests/transports/test_sse.py::test_one")
    assert not own.match("")


def test_contexts_of_a_package_that_is_tested_as_a_whole() -> None:
    schemas = re.compile(own_test_pattern("adapters/schemas/strict.py"))
    assert schemas.match("tests/adapters/schemas/test_anything.py::test_one")
    assert not schemas.match("tests/adapters/test_limits.py::test_one")
    errors = re.compile(own_test_pattern("errors/server.py"))
    assert errors.match("tests/test_errors.py::test_one")
    assert not errors.match("tests/auth/test_auth_errors.py::test_one")


def test_lines_of_functions_are_bodies_only() -> None:
    source = "X = 1\n\ndef f(\n    a=1,\n):\n    return (\n        a\n    )\nclass C:\n    y = 1\n"
    assert lines_of_functions(source) == {6, 7, 8}


def test_ranges() -> None:
    assert ranges({7, 1, 2, 3, 9, 10}) == "1-3, 7, 9-10"


SOURCE = """
    LIMIT = 3

    def double(number):
        return 2 * number

    def triple(number):
        if number > LIMIT:
            return 0
        return 3 * number
"""

OWN_TEST = """
    from mcpclient.part.numbers import double, triple

    def test_double():
        assert double(2) == 4

    class TestTriple:
        def test_small(self):
            assert triple(2) == 6

        def test_large(self):
            assert triple(20) == 0
"""


def judge(folder: Path, test_file: str, test: str) -> tuple[int, str]:
    """Return the gate's exit code and report for a project of one module and one test file."""
    files = {
        "pyproject.toml": (TOP / "pyproject.toml").read_text("utf-8"),
        "mcpclient/__init__.py": "",
        "mcpclient/part/__init__.py": "",
        "mcpclient/part/numbers.py": SOURCE,
        test_file: test,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), "utf-8")
    options = ["-p", "no:cacheprovider", "-p", "pytest_cov", "--cov-report="]
    run = [sys.executable, "-m", "pytest", "--cov", "--cov-context=test", *options]
    alone = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }  # plugins take longer than the run
    subprocess.run(run, cwd=folder, env=alone, check=True, capture_output=True, timeout=60)
    gate = subprocess.run(
        [sys.executable, coverage_gate.__file__],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return gate.returncode, gate.stdout + gate.stderr


@pytest.mark.slow
def test_a_module_covered_by_its_own_tests_passes(tmp_path: Path) -> None:
    code, report = judge(tmp_path, "tests/part/test_numbers.py", OWN_TEST)
    assert code == 0, report
    assert "coverage: 100.0 % of lines and branches" in report


@pytest.mark.slow
def test_a_module_covered_only_from_elsewhere_fails_and_so_does_a_low_total(tmp_path: Path) -> None:
    test = OWN_TEST.replace("def test_large", "def never_run")
    code, report = judge(tmp_path, "tests/other/test_client.py", test)
    assert code == 1
    assert "part/numbers.py  (tests/part/test_numbers.py misses 5, 8-10)" in report
    assert "coverage: 77.8 % of lines and branches in all; 95 % are asked for" in report
