"""The output of ``make dist``: F-PACK-1 and F-PACK-2."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient.inspector.routes import page
from tests.tools.distribution.backend import build_editable
from tests.tools.distribution.project import TOP
from tests.tools.distribution.release import write_release

pytestmark = pytest.mark.slow

DEMO = str(TOP / "mcpclient" / "testing" / "demo_server.py")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The files of a release, by the last part of their names."""
    paths = write_release(str(tmp_path_factory.mktemp("release")))
    return {path.suffix or path.name: path for path in paths}


def test_two_builds_are_the_same_to_the_byte(release: dict[str, Path], tmp_path: Path) -> None:
    """F-PACK-2: from a copy of the sources in another folder, whose files are of another time."""
    with tarfile.open(release[".gz"]) as archive:
        # Where Python knows filters, it wants to be told which one.
        known: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(tmp_path, **known)
    root = tmp_path / f"mcpclient-{mcpclient.__version__}"
    for path in root.rglob("*.py"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    run([sys.executable, "-m", "tests.tools.distribution", "other"], cwd=root)
    again = (root / "other" / "SHA256SUMS").read_text("utf-8")
    assert again == release["SHA256SUMS"].read_text("utf-8")


def test_the_sums_are_those_of_the_files(release: dict[str, Path]) -> None:
    sums = release["SHA256SUMS"]
    lines = [line.split("  ") for line in sums.read_text("utf-8").splitlines()]
    assert len(lines) == len(release) - 1
    for digest, name in lines:
        assert hashlib.sha256((sums.parent / name).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("kind", [".whl", ".gz"])
def test_it_installs_into_an_empty_environment_without_an_index(
    release: dict[str, Path], tmp_path: Path, kind: str
) -> None:
    """F-PACK-1, F-PACK-2: nothing else is needed, not even to build the source archive."""
    # The pip of these tests installs there, so that the environment is quickly made, and empty.
    venv.EnvBuilder(with_pip=False, symlinks=os.name != "nt").create(tmp_path)
    scripts = tmp_path / ("Scripts" if os.name == "nt" else "bin")
    options = ["--quiet", "--no-index", "--no-compile", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "--python", str(scripts / Path(sys.executable).name)]
    run([*pip, "install", *options, str(release[kind])])
    printed = run([str(scripts / "mcpclient"), "--version"])
    assert printed.strip() == f"mcpclient {mcpclient.__version__}"


def test_the_single_file_runs_isolated(release: dict[str, Path]) -> None:
    """F-PACK-2: without site-packages, and without variables of the environment."""
    command = [sys.executable, "-I", "-S", str(release[".pyz"])]
    printed = run([*command, "call", "echo", "message=hi", "--", sys.executable, DEMO])
    assert printed == "hi\n"


def test_the_single_file_carries_the_inspector(release: dict[str, Path]) -> None:
    """F-PACK-2: its page as well, which is not a module."""
    place = str(release[".pyz"])
    program = (
        f"import sys; sys.path.insert(0, {place!r}); from mcpclient.inspector.routes import page"
    )
    printed = run([sys.executable, "-I", "-S", "-c", f"{program}; print(len(page('n')))"])
    assert int(printed) == len(page("n"))


def test_the_wheel_holds_the_package_and_its_license(release: dict[str, Path]) -> None:
    """F-PACK-1: pure Python, typed, and with every module."""
    assert release[".whl"].name == f"mcpclient-{mcpclient.__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(release[".whl"]).namelist())
    modules = {path.relative_to(TOP).as_posix() for path in (TOP / "mcpclient").rglob("*.py")}
    assert modules <= names
    info = f"mcpclient-{mcpclient.__version__}.dist-info"
    assert {"mcpclient/py.typed", f"{info}/licenses/LICENSE", f"{info}/RECORD"} <= names
    assert not [name for name in names if "__pycache__" in name]


def test_the_metadata_names_no_dependency(release: dict[str, Path]) -> None:
    """F-PACK-1: and the Pythons it is for."""
    info = f"mcpclient-{mcpclient.__version__}.dist-info"
    metadata = zipfile.ZipFile(release[".whl"]).read(f"{info}/METADATA").decode()
    head = metadata.partition("\n\n")[0]
    assert f"Version: {mcpclient.__version__}" in head
    assert "Requires-Python: >=3.9" in head
    versions = re.findall(r"Classifier: Programming Language :: Python :: 3\.(\d+)", head)
    assert versions == ["9", "10", "11", "12", "13", "14"]
    assert "Requires-Dist" not in head


def test_the_parts_list_says_that_there_are_no_dependencies(release: dict[str, Path]) -> None:
    """F-PACK-1"""
    parts = json.loads(release[".json"].read_text("utf-8"))
    assert (parts["bomFormat"], parts["specVersion"]) == ("CycloneDX", "1.6")
    own = parts["metadata"]["component"]["bom-ref"]
    assert parts["dependencies"] == [{"ref": own, "dependsOn": []}]


def test_an_editable_wheel_leads_to_the_sources(tmp_path: Path) -> None:
    name = build_editable(str(tmp_path))
    content = zipfile.ZipFile(tmp_path / name).read("mcpclient_editable.pth").decode()
    assert Path(content.strip()) == TOP


def run(command: list[str], cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
