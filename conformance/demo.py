"""The session that ``make demo`` shows: a real server in a process of its own, in both eras.

It needs nothing but Python, and leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import mcpclient
from mcpclient.testing import demo_server

SERVER = Path(demo_server.__file__)

ERAS = {
    "2026-07-28": "stateless: every request says by itself who asks, and in which revision",
    "2025-11-25": "handshake: initialize comes first, and opens a session",
}


def say(label: str, text: str) -> None:
    """Print a line of the story, at once."""
    print(f"  {label:<18} {text}", flush=True)


def show_progress(progress: mcpclient.Progress) -> None:
    """Draw one step of a running call."""
    done, total = int(progress.progress), int(progress.total or 0)
    say("", f"[{'#' * done}{'.' * (total - done)}] {done}/{total} {progress.message}")


async def session(revision: str) -> None:
    """Use one server as a client does."""
    async with mcpclient.connect(
        [sys.executable, str(SERVER)], protocol_version=revision
    ) as client:
        server = client.server_info
        say("connected", f"{server.name} {server.version}, over {client.transport_name}")
        say("it can", ", ".join(sorted(client.capabilities)))

        tools = await client.list_tools()
        say("tools", ", ".join(tool.name for tool in tools))

        result = await client.call_tool("add", {"a": 19, "b": 23})
        say("add 19 23", f"{result.text}, or as structured content {result.structured}")

        say("count to 6", "a call that takes its time, and reports progress:")
        result = await client.call_tool(
            "count", {"to": 6, "seconds": 0.08}, on_progress=show_progress
        )
        say("", f"result: {result.text}")

        contents = await client.read_resource("demo://readme")
        say("demo://readme", contents.text.strip())
        pixel = await client.read_resource("demo://pixel")
        say("demo://pixel", f"{len(pixel.data)} bytes of {pixel.contents[0].mime_type}")

        prompt = await client.get_prompt("haiku", {"topic": "autumn", "mood": "calm"})
        say("prompt haiku", f"{prompt.messages[0].role}: {prompt.text}")

        result = await client.call_tool("fail", {"reason": "out of paper"})
        say("fail", f"a result with is_error={result.is_error}: {result.text}")
        try:
            await client.call_tool("no-such-tool")
        except mcpclient.PeerError as error:
            say("no-such-tool", f"{type(error).__name__} {error.code}: {error.message}")
    say("closed", "the server process has ended")


def main() -> None:
    """Run one session in each era."""
    started = time.monotonic()
    print(f"mcpclient {mcpclient.__version__} meets {SERVER.name}, a server in another process.")
    for revision, meaning in ERAS.items():
        print(f"\nRevision {revision}, {meaning}")
        asyncio.run(session(revision))
    print(f"\nBoth sessions took {time.monotonic() - started:.1f} s.")


if __name__ == "__main__":
    main()
