"""URI templates: the template in the first line, the values as JSON in the second one."""

from __future__ import annotations

from urllib.parse import unquote

from mcpclient.errors import TemplateError, UsageError
from mcpclient.formats.uri_template import expand, variable_names

from ..inputs import json_lines_of, lines_of


def target(data: bytes) -> None:
    template = lines_of(data, 2)[0]
    values = json_lines_of(data, 2)[1]
    try:
        names = variable_names(template)
    except TemplateError as error:
        assert 0 <= error.position <= len(template)
        return
    assert expand(template, {}).isascii()
    try:
        uri = expand(template, values if isinstance(values, dict) else dict.fromkeys(names, "a b"))
    except UsageError:
        return
    assert uri.isascii() and " " not in uri
    if not names:
        assert unquote(uri) == unquote(template)
