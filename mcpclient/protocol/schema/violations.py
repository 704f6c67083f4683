"""What is reported: a broken schema, or a value that does not match a good one."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import McpError, ProtocolViolation

__all__ = ["NotChecked", "SchemaError", "Violation"]


class SchemaError(ProtocolViolation):
    """A schema that cannot be used: malformed, unresolvable, of an unknown dialect, too large.

    Fields: ``fault`` (what is wrong) and ``location`` (where in the schema, as a URI whose
    fragment is a JSON pointer, ``"#/properties/age/type"``).
    """

    def __init__(self, fault: str, location: str) -> None:
        super().__init__(f"the JSON Schema cannot be used, at {location}: {fault}")
        self.args = (fault, location)
        self.fault = fault
        self.location = location


class NotChecked(McpError):
    """A validation reached one of its limits, so nothing is known of the value.

    Nobody has done wrong, so it is no `ProtocolViolation`. Field: ``reason``.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"not checked: {self.reason}"


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
