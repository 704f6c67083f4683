"""The program that the official suite starts to record a scenario: the driver, with a tap behind.

It takes what `conformance.client_driver` takes, and writes the transcript into the folder in the
variable MCP_CONFORMANCE_RECORDED. The tap is a proxy, so that the addresses which servers name and
sign stay as they are.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import mcpclient
from conformance.capture.official import file_name
from conformance.capture.records import AUTH_PORT, PORT, Cleaner, Places
from conformance.capture.taps import NOTE, Seen
from conformance.capture.taps.http import HttpTap
from conformance.capture.targets import node_package
from conformance.client_driver import SCENARIOS
from conformance.replay.user import failure_of
from conformance.situation import Situation, follow
from conformance.workspace import free_port
from mcpclient.recording.transcript import TRANSCRIPT_VERSION, write_line

SUITE = "@modelcontextprotocol/conformance"

_ADDRESS = re.compile(rb"(?:localhost|127\.0\.0\.1)(?::|%3A)([0-9]{5})\b")


class Recording:
    """One scenario, with the tap behind it."""

    def __init__(self, scenario: str, url: str, context: Mapping[str, Any]) -> None:
        self._scenario = scenario
        self._url = url
        self._context = context
        self._proxy_port = free_port()
        self._tap = HttpTap({}, self._proxy_port)

    async def run(self) -> str:
        """Act out the scenario; return the transcript."""
        situation = Situation(self._url, self._context, self._browse)
        os.environ["http_proxy"] = f"http://127.0.0.1:{self._proxy_port}"
        async with self._tap.serving():
            self._note(step=0, do="scenario", begins=True)
            try:
                await SCENARIOS[self._scenario](situation)
                outcome: dict[str, Any] = {"result": {"revision": situation.revision}}
            except mcpclient.McpError as error:
                outcome = failure_of(error)
            self._note(step=0, outcome=outcome)
        self._note(closed=True)
        places = Places(self._ports())
        cleaner = Cleaner(places)
        records = cleaner.records(self._tap.seen)
        header = json.dumps(self._header(situation.revision)).encode()
        return "".join(map(write_line, [cleaner.header(json.loads(places.hide(header))), *records]))

    def _note(self, **facts: Any) -> None:
        self._tap.seen.append(Seen(NOTE, "script", facts))

    async def _browse(self, url: str) -> str:
        location = await follow(url)  # past the tap: it is not traffic of the client
        self._note(visited={"url": url, "location": location})
        return location

    def _ports(self) -> dict[int, int]:
        """Return the name of each port: the server's, and then those beside it."""
        texts = [self._url.encode()]
        for seen in self._tap.seen:
            texts += [json.dumps(seen.facts).encode(), seen.body or b"", seen.event or b""]
        named = dict.fromkeys(int(port) for text in texts for port in _ADDRESS.findall(text))
        beside = [port for port in named if port != urlsplit(self._url).port]
        return {**dict.fromkeys(named, PORT), **dict(zip(beside, range(AUTH_PORT, AUTH_PORT + 99)))}

    def _header(self, revision: str) -> dict[str, Any]:
        step = {"do": "scenario", "name": self._scenario, "context": self._context}
        return {
            "transcript": TRANSCRIPT_VERSION,
            "transport": "http",
            "target": self._url,
            "recorded": datetime.now(timezone.utc).date().isoformat(),
            "protocol_version": revision or None,
            "client": {"package": f"mcpclient=={mcpclient.__version__}"},
            "server": {
                "name": self._scenario,
                "package": node_package(SUITE, "node-servers"),
                "command": ["node", f"{SUITE}/dist/index.js", "client", "--suite", "all"],
            },
            "script": {"name": self._scenario, "steps": [step]},
        }


def main() -> None:
    """Run the scenario that the environment names, against the URL that comes last."""
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    transcript = asyncio.run(Recording(scenario, sys.argv[-1], context).run())
    folder = Path(os.environ["MCP_CONFORMANCE_RECORDED"])
    (folder / file_name(scenario)).write_text(transcript, "utf-8")


if __name__ == "__main__":
    main()
