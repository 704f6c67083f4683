"""The id of the request that broken text answers: F-WIRE-7."""

from __future__ import annotations

from mcpclient.jsonrpc.response_id import find_response_id
from tests.support.tables import each_row

FILLER = '"result":{"text":"' + "x" * 70_000 + '","inner":{"id":99}}'


@each_row(
    ("text", "request_id"),
    [
        # At the start.
        ('{"jsonrpc":"2.0","id":7,"result":', 7),
        (' {"id" : "abc" , "result":', "abc"),
        ('\ufeff{"id":-3,', -3),
        ('{"id":"é",', "é"),
        ('{"result":{"id":1},"id":2,', 2),
        ('{"result":[{"id":1}],"error":"\\"id\\":5,","id":6}', 6),
        ('{"id":7,"result":"method",', 7),
        ('{"id":7,"result":"id",', 7),
        ('{"id":1,"id":2,"x":', 2),
        ('{"id":1,"id":null,"x":', None),
        # At the end.
        ("{" + FILLER + ',"jsonrpc":"2.0","id":8}', 8),
        ("{" + FILLER + ',"id":8,"jsonrpc":"2.0"}\r\n', 8),
        ('{"jsonrpc":"2.0",' + FILLER + ', "id" : "nine" } ', "nine"),
        # Nowhere, or not to be told.
        ("{" + FILLER + "}", None),
        ('{"id":12', None),
        ('{"id":true,', None),
        ('{"id":1.5,', None),
        ('{"id":null,', None),
        ('{"id":"a\\u0041",', None),
        ('{"id":12345678901234567890,', None),
        ('{"id" 5,"x":', None),
        ('{}"id":5,', None),
        ('{"id', None),
        ('{"result":{"items":[{"id":1},{"id":2}', None),
        ('{"text":"\\"},\\"id\\":1}', None),
        # Requests and notifications of the server's.
        ('{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":', None),
        ('{"method":"m","params":{},"id":7}x', None),
        # Not an object at all, but a line of a log, say.
        ('[DEBUG] sent {"jsonrpc":"2.0","result":{},"id":1}', None),
        ('sent {"result":{},"id":1}', None),
        ("", None),
        ("\ud800", None),
        ('{"id":"\ud800",', "?"),
        ('{"x":"\ud800","id":4,', 4),
    ],
)
def test_finding_the_id(text: str, request_id: int | str | None) -> None:
    """F-WIRE-7: the one call that a broken message answers can fail at once."""
    assert find_response_id(text) == request_id
    if "\ud800" not in text:
        assert find_response_id(text.encode()) == request_id
