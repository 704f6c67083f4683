"""The inputs that a configuration file declares, asked for in the terminal."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Collection
from typing import Callable

from ..config.variables import InputSpec
from ..framing.escaping import escape_line
from ..net.login.terminal import Terminal

_HIDDEN = "(what you type is not shown) "


def asking_for_inputs(
    wanted: Collection[str], terminal: Terminal
) -> Callable[[InputSpec], str | None]:
    """Return a function that asks for the inputs of these names, and for no others."""
    return lambda spec: _answer(spec, terminal) if spec.id in wanted else None


def _answer(spec: InputSpec, terminal: Terminal) -> str | None:
    """Ask for one input. None: it has no answer, so that its default counts."""
    default = "" if spec.default is None else f" [{spec.default}]"
    terminal.say(escape_line(f"{spec.description or spec.id}{default}:"))
    for number, choice in enumerate(spec.choices, 1):
        terminal.say(escape_line(f"  {number}. {choice}"))
    try:
        typed = getpass.getpass(_HIDDEN, sys.stderr) if spec.password else input().strip()
    except EOFError:
        return None
    if typed.isdigit() and 1 <= int(typed) <= len(spec.choices):
        return spec.choices[int(typed) - 1]
    return typed or None
