"""The shell of the command line: lines to one or many servers, typed or from a file."""

from .shell import COMMAND

__all__ = ["COMMAND"]
