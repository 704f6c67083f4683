"""The build backend that ``pyproject.toml`` names: what ``pip`` calls (PEP 517, PEP 660)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from .archives import tar_gz_of, zip_of
from .project import TOP, package_files, read_project, source_files

Settings = Optional[Mapping[str, object]]


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Write the wheel into a folder, and return its file name (PEP 427)."""
    return _write_wheel(wheel_directory, dict(package_files()))


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Write a wheel that leads to this folder instead of holding the package (PEP 660)."""
    return _write_wheel(wheel_directory, {"mcpclient_editable.pth": f"{TOP}\n".encode()})


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Write the source archive into a folder, and return its file name (PEP 625)."""
    project = read_project()
    root = f"{project.name}-{project.version}"
    files = {f"{root}/{name}": content for name, content in source_files()}
    files[f"{root}/PKG-INFO"] = project.metadata().encode()
    path = Path(sdist_directory, f"{root}.tar.gz")
    path.write_bytes(tar_gz_of(files.items()))
    return path.name


def _write_wheel(folder: str, files: dict[str, bytes]) -> str:
    project = read_project()
    info = f"{project.name}-{project.version}.dist-info"
    files[f"{info}/METADATA"] = project.metadata().encode()
    files[f"{info}/entry_points.txt"] = project.entry_points().encode()
    files[f"{info}/licenses/LICENSE"] = (TOP / "LICENSE").read_bytes()
    files[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: mcpclient\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD").encode()
    path = Path(folder, f"{project.name}-{project.version}-py3-none-any.whl")
    path.write_bytes(zip_of(files.items()))
    return path.name


def _record(files: Mapping[str, bytes], own_name: str) -> str:
    """The list of all files with their digests, but for its own."""
    lines = [
        f"{name},sha256={_digest(content)},{len(content)}"
        for name, content in sorted(files.items())
    ]
    return "\n".join([*lines, f"{own_name},,", ""])


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
