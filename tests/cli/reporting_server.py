"""The demo server, which also writes each message it receives to stderr."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcpclient.testing import demo_server
else:  # The module alone starts sooner than with its packages.
    DEMO = Path(__file__).parents[2] / "mcpclient" / "testing" / "demo_server.py"
    sys.path.insert(0, str(DEMO.parent))
    import demo_server


class ReportingServer(demo_server.DemoServer):
    def receive(self, message: dict[str, Any]) -> None:
        print(f"\x1b[2m{message['method']}", file=sys.stderr, flush=True)
        super().receive(message)


if __name__ == "__main__":
    demo_server.DemoServer = ReportingServer  # type: ignore[misc]
    demo_server.main()
