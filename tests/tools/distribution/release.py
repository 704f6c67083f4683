"""The files of a release: wheel, source archive, single file, their digests, and a parts list."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable
from pathlib import Path

from .archives import zip_of
from .backend import build_sdist, build_wheel
from .project import Project, package_files, read_project

# The first line lets a POSIX shell run the file; Python skips it.
_SHEBANG = b"#!/usr/bin/env python3\n"
_START = b"import sys\n\nfrom mcpclient.__main__ import main\n\nsys.exit(main())\n"


def write_release(folder: str) -> list[Path]:
    """Write all files of a release into ``folder``, and return their paths.

    The same sources give the same bytes, in whichever folder and whenever they are built; the
    compression depends on the Python it runs on.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    project = read_project()
    single = target / f"{project.name}.pyz"
    single.write_bytes(_SHEBANG + zip_of([*package_files(), ("__main__.py", _START)]))
    single.chmod(0o755)
    made = [target / build_wheel(folder), target / build_sdist(folder), single]
    parts = target / f"{project.name}-{project.version}.cdx.json"
    parts.write_text(_parts_list(project, made), "utf-8")
    sums = target / "SHA256SUMS"
    sums.write_text("".join(f"{_sha256(path)}  {path.name}\n" for path in [*made, parts]), "utf-8")
    return [*made, parts, sums]


def _parts_list(project: Project, files: Iterable[Path]) -> str:
    """A CycloneDX 1.6 document: the library, its files, and that it depends on nothing."""
    url = f"pkg:pypi/{project.name}@{project.version}"
    digests = {path.name: _sha256(path) for path in files}
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(digests))}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": url,
                "name": project.name,
                "version": project.version,
                "description": project.fields["description"],
                "licenses": [{"license": {"id": project.fields["license"]}}],
                "purl": url,
                "components": [
                    {
                        "type": "file",
                        "name": name,
                        "hashes": [{"alg": "SHA-256", "content": digest}],
                    }
                    for name, digest in digests.items()
                ],
            }
        },
        "components": [],
        "dependencies": [{"ref": url, "dependsOn": []}],
    }
    return json.dumps(document, indent=2) + "\n"


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
