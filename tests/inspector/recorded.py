"""Recordings for tests, written from requests and their results."""

from __future__ import annotations

import json
from pathlib import Path

from mcpclient import Recording


def _record(time: float, direction: str, message: object) -> str:
    return json.dumps(
        {"time": time, "direction": direction, "channel": "stdio", "message": message}
    )


def recording(path: Path, *exchanges: tuple[str, object, object]) -> Recording:
    """Write requests, each with its params and result, to a file, and return its transcript."""
    lines = ['{"transcript": 1, "transport": "stdio", "target": "npx x"}']
    for number, (method, params, result) in enumerate(exchanges):
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        lines.append(_record(number, "sent", request))
        answer = {"jsonrpc": "2.0", "id": number, "result": result}
        lines.append(_record(number + 0.5, "received", answer))
    path.write_text("\n".join(lines) + "\n")
    return Recording(path)
