"""``python -m tests.tools.saboteur``: try every fault, and say who notices it.

The visible ones are tried on the replay of recorded sessions alone and on the unit tests, the
others on the unit tests. It takes some minutes, and fails when the unit tests miss one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import NamedTuple

from .faults import OTHERS, VISIBLE, Fault
from .workshop import Sound, Workshop, fresh_faults


class Verdict(NamedTuple):
    """The outcome of one fault; None where it was not tried."""

    fault: Fault
    by_unit: bool | None
    by_replay: bool | None
    detail: str

    def __str__(self) -> str:
        marks = [_mark("unit", self.by_unit), _mark("replay", self.by_replay)]
        return f"{' '.join(marks)}  {self.fault.module}: {self.fault.breaks}  {self.detail}"


def _mark(name: str, noticed: bool | None) -> str:
    return f"{name} {'-' if noticed is None else 'noticed' if noticed else 'MISSED':8}"


def main() -> int:
    """Try the faults whose module or words contain one of the names; all without names."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.saboteur", description=__doc__)
    parser.add_argument("names", nargs="*", help="such as auth, or words of a fault")
    parser.add_argument("--only", choices=("unit", "replay"), help="try one of the two")
    parser.add_argument("--at-once", type=int, default=2, help="how many faults at a time")
    parser.add_argument("--fresh", type=int, default=0, help="so many that a seed chooses, instead")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    others = [fault for fault in OTHERS if _is_chosen(fault, options.names)]
    visible = [fault for fault in VISIBLE if _is_chosen(fault, options.names)]
    if options.fresh:
        visible, others = fresh_faults(options.fresh, options.seed), []
    verdicts = []
    for verdict in _tried(visible, others, options.only, options.at_once):
        print(verdict, flush=True)
        verdicts.append(verdict)
    for name in ("unit", "replay"):
        tried = [each for each in verdicts if getattr(each, f"by_{name}") is not None]
        noticed = sum(getattr(each, f"by_{name}") for each in tried)
        print(f"{name}: {noticed} of {len(tried)} faults noticed")
    return 1 if any(verdict.by_unit is False for verdict in verdicts) else 0


def _is_chosen(fault: Fault, names: Sequence[str]) -> bool:
    return not names or any(name in f"{fault.module}: {fault.breaks}" for name in names)


def _tried(
    visible: Sequence[Fault], others: Sequence[Fault], only: str | None, at_once: int
) -> Iterator[Verdict]:
    workshops: SimpleQueue[Workshop] = SimpleQueue()

    def try_one(fault: Fault) -> Verdict:
        workshop = workshops.get()
        try:
            with workshop.holding(fault):
                unit = workshop.unit(fault) if only != "replay" else None
                seen_by_replay = fault in visible and only != "unit"
                replay = workshop.replay() if seen_by_replay else None
        finally:
            workshops.put(workshop)
        return Verdict(
            fault,
            by_unit=unit is not None if only != "replay" else None,
            by_replay=replay is not None if seen_by_replay else None,
            detail=unit or replay or "",
        )

    with ExitStack() as stack:
        sound = Sound(Path(stack.enter_context(TemporaryDirectory())))
        for _ in range(at_once):
            workshops.put(stack.enter_context(Workshop.opened(sound)))
        with ThreadPoolExecutor(at_once) as threads:
            yield from threads.map(try_one, [*visible, *(others if only != "replay" else [])])
        if sound.red:
            print("left out, as they fail without a fault, too:", *sound.red, sep="\n  ")


if __name__ == "__main__":
    sys.exit(main())
