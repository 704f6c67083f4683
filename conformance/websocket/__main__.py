"""Run the Autobahn testsuite against the WebSocket connection and print the counts.

    python -m conformance.websocket [--cases PATTERN ...] [--reports DIR]

The suite is installed on the first run, which takes CPython 2.7 and a C compiler. PATTERN is like
``6.*``; without one all of the 517 cases run, which takes several minutes, most of them for
compression. DIR receives the suite's own report, an ``index.html`` and a page for each case. The
exit status is 1 when a case is anything but OK, NON-STRICT or INFORMATIONAL.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conformance.peers.install import CannotInstall
from conformance.websocket.driver import converse
from conformance.websocket.install import install

AGENT = "mcpclient"
GOOD = {"OK", "NON-STRICT", "INFORMATIONAL"}
SPECIFICATION = Path(__file__).with_name("fuzzingserver.json")

# Cases that run at the same time: some only wait.
WORKERS = 4

_SERVER_START = 20.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.websocket", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--cases", nargs="+", metavar="PATTERN", default=["*"])
    parser.add_argument("--reports", type=Path, metavar="DIR")
    arguments = parser.parse_args()
    try:
        program = install()
    except CannotInstall as reason:
        print(f"the Autobahn testsuite could not be installed: {reason}")
        return 1
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.reports or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        with fuzzing_server(program, folder, arguments.cases) as port:
            asyncio.run(run_cases(port))
        results = json.loads((folder / "index.json").read_text("utf-8"))[AGENT]
    return summarize(results)


@contextmanager
def fuzzing_server(program: Path, folder: Path, cases: list[str]) -> Iterator[int]:
    """Run the server on a free port; its reports go to ``folder``."""
    port = free_port()
    specification = json.loads(SPECIFICATION.read_text("utf-8"))
    specification.update(url=f"ws://127.0.0.1:{port}", outdir=str(folder), cases=cases)
    path = folder / "fuzzingserver.json"
    path.write_text(json.dumps(specification), "utf-8")
    with (folder / "server.log").open("wb") as log:
        command = [str(program), "-m", "fuzzingserver", "-s", str(path)]
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            wait_for(port, server)
            yield port
        finally:
            server.terminate()
            server.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _SERVER_START
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


async def run_cases(port: int) -> None:
    """Run every case, then have the server write its reports."""
    (count,) = await converse(port, "/getCaseCount")
    total = int(count)
    waiting = iter(range(1, total + 1))

    async def work() -> None:
        for case in waiting:
            await converse(port, f"/runCase?case={case}&agent={AGENT}", echo=True)
            if case % 50 == 0:
                print(f"case {case} of {total}", flush=True)

    await asyncio.gather(*(work() for _ in range(WORKERS)))
    await converse(port, f"/updateReports?agent={AGENT}")


def summarize(results: dict[str, Any]) -> int:
    """Print the counts and every case that is not plainly OK; 1 means that one is bad."""
    for case, result in results.items():
        outcome = {result["behavior"], result["behaviorClose"]}
        if outcome != {"OK"}:
            print(f"{case:8} {result['behavior']}, closing {result['behaviorClose']}")
    for title, key in (("behaviour", "behavior"), ("closing", "behaviorClose")):
        counts = Counter(result[key] for result in results.values())
        print(f"{title}: " + ", ".join(f"{count} {name}" for name, count in counts.most_common()))
    return int(any({r["behavior"], r["behaviorClose"]} - GOOD for r in results.values()))


if __name__ == "__main__":
    sys.exit(main())
