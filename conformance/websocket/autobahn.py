"""The Autobahn testsuite's fuzzing server, and its verdict on this library."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from conformance import peers
from conformance.peers.install import CannotInstall
from conformance.results import FAILED, LEFT_OUT, PASSED, WEBSOCKET, Row
from conformance.websocket.driver import converse
from conformance.websocket.install import PROGRAM, install, is_installed
from conformance.workspace import free_port, wait_until_it_listens

AGENT = "mcpclient"
GOOD = {"OK", "NON-STRICT", "INFORMATIONAL"}
SPECIFICATION = Path(__file__).with_name("fuzzingserver.json")

# Everything but speed (9.*) and compression (12.*, 13.*), which takes many minutes.
QUICK_CASES = ("1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "10.*")

# Cases that run at the same time: some only wait.
WORKERS = 4


def provide() -> None:
    """Install the suite if this machine can; if not, keep the reason for `run`."""
    try:
        install()
    except CannotInstall as problem:
        peers.problems["autobahn"] = problem.gist


def run() -> Iterator[Row]:
    """Run the quick cases, where the suite is installed; name the cases left out."""
    row = partial(Row, "websocket", transport=WEBSOCKET)
    name, others = "Autobahn testsuite", "Autobahn testsuite, speed and compression"
    yield row(others, LEFT_OUT, "takes many minutes: python -m conformance.websocket")
    if not is_installed():
        command = "python -m conformance.websocket"
        yield row(name, LEFT_OUT, peers.problems.get("autobahn", f"not installed ({command})"))
        return
    results = meet(QUICK_CASES)
    bad = bad_cases(results)
    row = partial(row, name, checks=len(results), held=len(results) - len(bad))
    if bad or not results:
        yield row(FAILED, f"bad cases: {', '.join(bad)}")
    else:
        yield row(PASSED, f"{len(results)} cases")


def meet(cases: Sequence[str], folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """Run cases and return the results by case; the suite's own report goes to ``folder``."""
    if folder is None:
        with tempfile.TemporaryDirectory() as temporary:
            return meet(cases, Path(temporary))
    with _fuzzing_server(folder, cases) as port:
        asyncio.run(_run_cases(port))
    results: dict[str, dict[str, Any]] = json.loads((folder / "index.json").read_text("utf-8"))
    return results[AGENT]


def bad_cases(results: dict[str, dict[str, Any]]) -> list[str]:
    """Return the cases that are anything but OK, NON-STRICT or INFORMATIONAL."""
    return [
        case
        for case, result in results.items()
        if {result["behavior"], result["behaviorClose"]} - GOOD
    ]


@contextmanager
def _fuzzing_server(folder: Path, cases: Sequence[str]) -> Iterator[int]:
    port = free_port()
    specification = json.loads(SPECIFICATION.read_text("utf-8"))
    specification.update(url=f"ws://127.0.0.1:{port}", outdir=str(folder), cases=list(cases))
    path = folder / "fuzzingserver.json"
    path.write_text(json.dumps(specification), "utf-8")
    with (folder / "server.log").open("wb") as log:
        command = [str(PROGRAM), "-m", "fuzzingserver", "-s", str(path)]
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            wait_until_it_listens(server, port)
            yield port
        finally:
            server.terminate()
            server.wait()


async def _run_cases(port: int) -> None:
    """Run every case, then have the server write its reports."""
    (count,) = await converse(port, "/getCaseCount")
    total = int(count)
    waiting = iter(range(1, total + 1))

    async def work() -> None:
        for case in waiting:
            try:
                await converse(port, f"/runCase?case={case}&agent={AGENT}", echo=True)
            except asyncio.TimeoutError:  # the server's report names the missing cases
                print(f"case {case} of {total} did not come to its end", flush=True)
            if case % 50 == 0:
                print(f"case {case} of {total}", flush=True)

    await asyncio.gather(*(work() for _ in range(WORKERS)))
    await converse(port, f"/updateReports?agent={AGENT}")
