"""What the command line ends with."""

from __future__ import annotations

import re

from mcpclient.cli import main as commands
from mcpclient.cli.help import chapter


def test_the_guide_explains_every_code() -> None:
    """F-SHOW-2: and none that there is not."""
    explained = re.findall(r"^\| (\d+) \|", chapter("errors"), re.M)
    known = [
        code
        for name, code in vars(commands).items()
        if type(code) is int and name.isupper() and name[0] != "_"
    ]
    assert sorted(map(int, explained)) == sorted([0, *known])
