"""A server's entry of a configuration file: a way to reach it, or a `UsageError`."""

from __future__ import annotations

from mcpclient.client.answers.inbound_requests import Handlers
from mcpclient.client.connection.limits import DEFAULT, Timeouts
from mcpclient.client.connection.options import Options
from mcpclient.client.connection.targets import route_to
from mcpclient.client.events.callbacks import Events
from mcpclient.errors import UsageError

from ..inputs import json_lines_of, lines_of


def target(data: bytes) -> None:
    config = json_lines_of(data, 1)[0]
    text = lines_of(data, 1)[0]
    for place in (config if isinstance(config, (dict, list)) else {}, text):
        try:
            route = route_to(place, options())
            assert isinstance(route.shown, str)
            route.open()
        except UsageError as error:
            assert str(error)
    try:
        limits = Timeouts.of(DEFAULT, DEFAULT, DEFAULT, 1.0, {"MCP_TIMEOUT": text})
    except UsageError as error:
        assert str(error)
    else:
        assert limits.idle is None or limits.idle > 0


def options() -> Options:
    limits = Timeouts.of(DEFAULT, DEFAULT, DEFAULT, 1.0, {})
    return Options(limits, {"name": "fuzz", "version": "0"}, Handlers(), Events())
