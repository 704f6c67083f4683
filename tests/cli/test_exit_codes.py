"""What the command line ends with."""

from __future__ import annotations

import re

from mcpclient.cli import exit_codes
from mcpclient.cli.help import chapter


def test_the_guide_explains_every_code() -> None:
    """F-SHOW-2: and none that there is not."""
    explained = re.findall(r"^\| (\d+) \|", chapter("errors"), re.M)
    known = [code for name, code in vars(exit_codes).items() if name.isupper()]
    assert sorted(map(int, explained)) == sorted([0, *known])
