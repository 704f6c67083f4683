"""Arguments of a tool as they are typed: one word in each line."""

from __future__ import annotations

import json

from mcpclient.cli.arguments import parse_arguments, parse_text_arguments
from mcpclient.cli.layout import one_line
from mcpclient.errors import UsageError
from mcpclient.framing.escaping import escape

from ..inputs import lines_of


def target(data: bytes) -> None:
    words = lines_of(data, 8)
    escape(words[0]).encode()
    assert "\n" not in one_line(words[0])
    # These would read stdin and files.
    words = [word for word in words if word != "-" and "@" not in word]
    for parse in (parse_arguments, parse_text_arguments):
        try:
            json.dumps(parse(words))
        except UsageError as error:
            assert str(error)
