"""The recorder of a client, which few programs turn on: `trace_writer` then does its work."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Callable, Union

from .clocks import timestamp

if TYPE_CHECKING:
    from .trace_writer import TraceWriter

TraceTarget = Union[str, "os.PathLike[str]", Callable[[str], Any]]
"""A file to append to, or a function that takes a transcript line by line, line ends included."""


class Recorder:
    """The facts of one client that a transcript needs, and its writer, made at first use.

    ``is_on``: whether there is a target, so that something is written. ``variables`` may be
    secrets; ``schemas``: the input schemas of tools, by name, which mark arguments as secret.
    ``connection``: its transport, its target and its time, and ``began``: the same time.
    """

    def __init__(self, target: TraceTarget | None = None) -> None:
        self.is_on: bool = False
        self.variables: dict[str, str] = {}
        self.schemas: dict[str, Any] = {}
        self.connection: tuple[str, str, str] | None = None
        self.began: float = time.monotonic()
        if target is not None:
            self.writer.add(target)

    @cached_property
    def writer(self) -> TraceWriter:
        """The writer of the transcript."""
        from .trace_writer import TraceWriter

        return TraceWriter(self)

    def begin(self, transport: str, target: str) -> None:
        """Write the header of a connection."""
        self.began = time.monotonic()
        self.connection = (transport, target, timestamp())
        if self.is_on:
            self.writer.header()

    def learn(self, variables: Mapping[str, str]) -> None:
        """Remember the secrets among variables, to redact them in every record."""
        self.variables.update(variables)
        if "writer" in vars(self):
            self.writer.learn(variables)

    def stderr_line(self, line: str) -> None:
        """Write a line that the server process wrote to its stderr."""
        if self.is_on:
            self.writer.record("received", "stderr", {"text": line})
