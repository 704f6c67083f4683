"""Records to the lines of one transcript, secrets replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import __version__
from .http_channel import HttpChannel, Records
from .recorded_errors import error_facts
from .redaction import Redactor
from .transcript import TRANSCRIPT_VERSION, write_line


class TranscriptWriter:
    """Words the lines of a transcript; the secrets it has seen stay known in all that follows."""

    def __init__(self) -> None:
        self._redactor = Redactor()

    def learn(self, variables: Mapping[str, str]) -> None:
        """Take note of the secrets among variables, which may turn up in any text."""
        texts = [pair for pair in variables.items() if all(isinstance(one, str) for one in pair)]
        self._redactor.learn(dict(texts))

    def learn_schemas(self, schemas: Mapping[str, Any]) -> None:
        """Take note of input schemas of tools, by name, which mark arguments as secret."""
        self._redactor.schemas.update(schemas)

    def masked(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a call without the arguments that are known to be secret."""
        return self._redactor.masked(params)

    def header(self, transport: str, target: str, recorded: str) -> dict[str, Any]:
        """Return the header of a connection. ``recorded``: when it began (RFC 3339)."""
        return {
            "transcript": TRANSCRIPT_VERSION,
            "transport": transport,
            "target": target,
            "recorded": recorded,
            "by": f"mcpclient {__version__}",
        }

    def line(self, value: Mapping[str, Any]) -> str:
        """Return a header or a record as a line, with its line end."""
        return write_line(self._redactor.record(value))

    def error_facts(self, error: BaseException) -> dict[str, Any]:
        """Return what a record says about an exception."""
        return error_facts(error, self._redactor)

    def http_channel(self, records: Records, name: str) -> HttpChannel:
        """Begin the records of a request and its response."""
        return HttpChannel(records, name)
