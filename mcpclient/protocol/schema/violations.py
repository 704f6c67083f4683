"""What is reported of a value that does not match a schema."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Violation:
    """One way in which a value does not match its schema.

    ``message`` says what is wrong, ``instance_path`` where in the value (a JSON pointer, empty
    for the value itself) and ``schema_path`` which keyword of the schema said so.
    """

    message: str
    instance_path: str
    schema_path: str

    def __str__(self) -> str:
        return f"at {self.instance_path or 'the top'}: {self.message}"
