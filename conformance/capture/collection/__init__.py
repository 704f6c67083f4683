"""The scripts that transcripts are made of."""

from __future__ import annotations

from conformance.capture.collection import (
    authorization,
    own_server,
    programs,
    python_client,
    reactions,
    reference_servers,
    stateless,
)
from conformance.scripts import Script

SCRIPTS: tuple[Script, ...] = (
    *reference_servers.SCRIPTS,
    *own_server.SCRIPTS,
    *stateless.SCRIPTS,
    *authorization.SCRIPTS,
    *python_client.SCRIPTS,
    *programs.SCRIPTS,
    *reactions.SCRIPTS,
)
