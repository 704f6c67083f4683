"""``python -m tests.tools.browser``: see to a Chromium for the tests of the inspector's page.

Where PATH has none, the one of the npm package that `conformance.peers` pins is unpacked, with the
libraries it needs. What could not be had is said in the last line, and is not an error.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from conformance import peers
from conformance.peers.install import CannotInstall, install, node_and_npm
from tests.support.needs import INSTALLED_CHROMIUM, chromium

_ENVIRONMENT = "node-chromium"
_ARCHIVES = {"chromium": "browser", "al2023.tar": "libraries.tar", "fonts.tar": "fonts.tar"}
_UNPACK = """
const { createReadStream, createWriteStream } = require("fs");
const { createBrotliDecompress } = require("zlib");
const [source, target] = process.argv.slice(1);
createReadStream(source).pipe(createBrotliDecompress()).pipe(createWriteStream(target));
"""
_START = """\
#!/bin/sh
here=$(dirname "$0")
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_FILE="$here/own-fonts.conf"
exec "$here/browser" "$@"
"""
_FONTS = '<?xml version="1.0"?><fontconfig><dir>{}</dir><cachedir>{}</cachedir></fontconfig>\n'


def main() -> int:
    """Install the missing parts; the last line says with which browser the page is tested."""
    reason = ""
    try:
        install("node-axe")
        if chromium() is None:
            _install_chromium()
    except CannotInstall as problem:
        reason = problem.gist
    found = chromium()
    if found is None:
        print(f"THE PAGE IS NOT TESTED: there is no Chromium, and none can be had: {reason}")
    elif reason:
        print(f"the page is tested by {found}, BUT NOT FOR ACCESSIBILITY: {reason}")
    else:
        print(f"the page is tested by {found}: {_version(found)}")
    return 0


def _install_chromium() -> None:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise CannotInstall("the package has one for Linux on x86-64 only")
    install(_ENVIRONMENT)
    folder = INSTALLED_CHROMIUM.parent
    packed = peers.node_module("@sparticuz/chromium/bin", _ENVIRONMENT)
    node, _ = node_and_npm()
    for name, unpacked in _ARCHIVES.items():
        source, target = packed / f"{name}.br", folder / unpacked
        subprocess.run([node, "-e", _UNPACK, str(source), str(target)], check=True)
    for name in ("libraries.tar", "fonts.tar"):
        _extract(folder / name, folder)
    fonts = _FONTS.format(folder / "fonts", folder / "cache")
    (folder / "own-fonts.conf").write_text(fonts, "utf-8")
    (folder / "browser").chmod(0o755)
    start = folder / "start"
    start.write_text(_START, "utf-8")
    start.chmod(0o755)
    try:
        _version(str(start))
    except (OSError, subprocess.SubprocessError) as error:
        shutil.rmtree(folder)
        raise CannotInstall(f"the Chromium of the package does not start: {error}") from error
    os.replace(start, INSTALLED_CHROMIUM)


def _extract(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as opened:
        if hasattr(tarfile, "data_filter"):
            opened.extractall(folder, filter="data")
        else:
            opened.extractall(folder)


def _version(program: str) -> str:
    command = [program, "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return said.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
