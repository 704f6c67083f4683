"""JSON Schema: a schema in the first line, a value in the second one."""

from __future__ import annotations

from mcpclient.protocol.schema import SchemaError, SchemaLimits, compile_schema

from ..inputs import json_lines_of

LIMITS = SchemaLimits(validation_steps=50_000, pattern_states=2_000, subschemas=2_000)


def target(data: bytes) -> None:
    schema, value = json_lines_of(data, 2)
    for asserts_formats in (False, True):
        try:
            compiled = compile_schema(schema, limits=LIMITS, assert_formats=asserts_formats)
        except SchemaError as error:
            assert error.fault and "#" in error.location
            continue
        found = compiled.validate(value)
        assert len(found) <= LIMITS.violations
        # A validation leaves nothing behind that changes the next one.
        assert compiled.validate(value) == found
        for violation in found:
            str(violation)
