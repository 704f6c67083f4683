"""A copy under another name: what is renamed, and what keeps its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tables import each_row
from tests.tools.vendored import NAME, copy_into, renamed

RENAMED = {
    "from mcpclient import Client": "from host.vendored import Client",
    "from mcpclient.net import files": "from host.vendored.net import files",
    "import mcpclient\n": "import host.vendored as mcpclient\n",
    "import mcpclient.sync\n": "import host.vendored as mcpclient; import host.vendored.sync\n",
    '"import asyncio; import mcpclient"': '"import asyncio; import host.vendored as mcpclient"',
    '[sys.executable, "-m", "mcpclient"]': '[sys.executable, "-m", "host.vendored"]',
    '#!/bin/sh\nexec python3 -m mcpclient "$@"': '#!/bin/sh\nexec python3 -m host.vendored "$@"',
    'setattr("mcpclient.net.files.LIMIT", 1)': 'setattr("host.vendored.net.files.LIMIT", 1)',
}

KEPT = (
    'getLogger("mcpclient.auth")',
    "mcpclient.connect(server)",
    'folder / "mcpclient" / "mcp.json"',
    '"mcpclient call add a=1"',
    '"~/.config/mcpclient/a.b.json"',
)


@each_row(("before", "after"), RENAMED.items())
def test_what_names_a_module_is_renamed(before: str, after: str) -> None:
    """F-PACK-2"""
    assert renamed("test_it.py", before.encode()).decode() == after


@each_row("text", KEPT)
def test_what_a_user_sees_keeps_its_name(text: str) -> None:
    """F-PACK-2"""
    assert renamed("test_it.py", text.encode()).decode() == text


@pytest.mark.slow
def test_the_copy_is_whole_and_the_package_in_it_unchanged(tmp_path: Path) -> None:
    """F-PACK-2"""
    copy_into(tmp_path)
    top = Path(__file__).parent.parent.parent
    for path in (top / "mcpclient").rglob("*.py"):
        copy = tmp_path.joinpath(*NAME.split("."), path.relative_to(top / "mcpclient"))
        assert copy.read_bytes() == path.read_bytes()
    assert not (tmp_path / "mcpclient").exists()
    assert (tmp_path / "tests" / "conftest.py").exists()
