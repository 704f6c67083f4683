"""The scripts that transcripts are made of."""

from __future__ import annotations

from conformance.capture.collection import (
    authorization,
    own_server,
    programs,
    python_client,
    reference_servers,
    stateless,
)
from conformance.capture.collection.reactions import REACTIONS
from conformance.scripts import Script

SCRIPTS: tuple[Script, ...] = (
    *reference_servers.SCRIPTS,
    *own_server.SCRIPTS,
    *stateless.SCRIPTS,
    *authorization.SCRIPTS,
    *python_client.SCRIPTS,
    *programs.SCRIPTS,
    *(reaction.script for reaction in REACTIONS),
)
