"""The validator, imported when it is first used."""

from __future__ import annotations

import pytest

from mcpclient.errors import NotChecked, SchemaError
from mcpclient.protocol.schema import SchemaLimits
from mcpclient.protocol.schema_on_demand import compile_schema

SCHEMA = {"type": "object", "properties": {"when": {"type": "string", "format": "date"}}}


def clock() -> float:
    return 0.0


def test_formats_can_be_asserted() -> None:
    """F-API-10: forms assert them, output schemas do not."""
    value = {"when": "someday"}
    assert not compile_schema(SCHEMA, clock=clock).validate(value)
    assert compile_schema(SCHEMA, clock=clock, assert_formats=True).validate(value)


def test_the_clock_and_the_limits_are_used() -> None:
    """F-API-17"""
    times = iter(range(1000))
    with pytest.raises(SchemaError, match="longer than"):
        compile_schema({"allOf": [SCHEMA] * 500}, clock=lambda: float(next(times)))
    schema = compile_schema(SCHEMA, clock=clock, limits=SchemaLimits(validation_steps=1))
    with pytest.raises(NotChecked, match="too many steps"):
        schema.validate({"when": ["x"] * 100})
