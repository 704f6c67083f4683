"""What a server that nobody has named is called at a prompt, and where it asks something."""

from __future__ import annotations

import os
import re

from ..client.connection.targets import Target
from ..manager.derived_names import derive_name

_INTERPRETERS = re.compile(r"(?:python[\d.]*|py|node|npx|uvx|bun|bunx|deno)(?:\.exe|\.cmd)?")


def short_name(target: Target) -> str:
    """Return the first label of a URL's host, or a command's name: its script's, if it has one."""
    if isinstance(target, list) and _INTERPRETERS.fullmatch(os.path.basename(target[0])):
        scripts = [word for word in target[1:] if not word.startswith("-")]
        return derive_name([*scripts, *target][:1])
    return derive_name(target)
