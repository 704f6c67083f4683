"""The ``websockets`` library as the server, with compression and its defaults but for sizes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.typing import Subprotocol

IDENTITY = {"capabilities": {"tools": {}}, "serverInfo": {"name": "websockets", "version": "1"}}
DISCOVERED = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "ttlMs": 0,
    "cacheScope": "private",
}


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    """Return the answer to a request."""
    if "id" not in message:
        return None
    results: dict[str, Any] = {"ping": {}, "server/discover": DISCOVERED}
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        results["initialize"] = {"protocolVersion": version, **IDENTITY}
    if message["method"] == "tools/call":
        text = message["params"]["arguments"]["message"]
        results["tools/call"] = {"content": [{"type": "text", "text": text}]}
    result = results.get(message["method"])
    if result is None:
        error = {"code": -32601, "message": "Method not found"}
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


async def handle(connection: ServerConnection) -> None:
    """Answer until the client closes."""
    async for text in connection:
        reply = answer(json.loads(text))
        if reply is not None:
            await connection.send(json.dumps(reply))


async def main() -> None:
    """Serve on a free port."""
    protocols = [Subprotocol("mcp")]
    serving = serve(handle, "127.0.0.1", 0, subprotocols=protocols, max_size=1 << 26)
    async with serving as server:
        print(next(iter(server.sockets)).getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
