"""The table at the end of a run."""

from __future__ import annotations

from .calls import OUTCOMES
from .lanes import Lane
from .run import Run


def summary(run: Run) -> str:
    """Return what happened, lane by lane, and its effect on the process."""
    head = ["", "calls", *OUTCOMES, "kills", "reconnects", "p50 ms", "p99 ms"]
    rows = [head, *(_row(lane) for lane in run.lanes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows]
    if run.samples:
        first, last = run.samples[0], run.samples[-1]
        lines += [
            f"after the first and the last of {len(run.samples)} rounds: "
            f"rss {first.rss >> 10} and {last.rss >> 10} KiB, "
            f"objects {first.objects} and {last.objects}, "
            f"descriptors {first.descriptors} and {last.descriptors}"
        ]
    lines += [f"{run.calls} calls, {run.executions} executed, none twice"]
    return "\n".join(lines)


def _row(lane: Lane) -> list[str]:
    numbers = [lane.calls, *(lane.outcomes[outcome] for outcome in OUTCOMES)]
    numbers += [lane.kills, lane.reconnects]
    latencies = [f"{lane.latencies.quantile(share) * 1000:.2f}" for share in (0.5, 0.99)]
    return [lane.name, *map(str, numbers), *latencies]
