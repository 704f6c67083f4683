"""Tool arguments in headers: a tool's input schema in the first line, arguments in the second."""

from __future__ import annotations

from mcpclient.errors import UsageError
from mcpclient.framing.headers import encode_header
from mcpclient.protocol.header_parameters import HeaderParameters, header_parameters_of

from ..inputs import json_lines_of


def target(data: bytes) -> None:
    schema, arguments = json_lines_of(data, 2)
    known = HeaderParameters()
    try:
        found = header_parameters_of(schema)
        known.learn({"name": "tool", "inputSchema": schema})
    except ValueError as error:
        assert str(error)
        found = []
    try:
        headers = known.for_call({"name": "tool", "arguments": arguments})
    except UsageError as error:
        assert str(error)
        return
    assert headers.keys() <= {f"Mcp-Param-{parameter.header}" for parameter in found}
    for name, value in headers.items():
        encode_header(name, value)
