"""The terminal that a command asks its user in."""

from __future__ import annotations

from ..net.login.terminal import Terminal
from .screen import Screen


class ScreenTerminal(Terminal):
    """The terminal, without disturbing what else is shown there."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen

    def say(self, text: str) -> None:
        """Show text in lines."""
        for line in text.splitlines():
            self._screen.say(line)
