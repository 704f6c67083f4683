"""Every target meets its seeds and some mutations of them, so that none of them rots."""

from __future__ import annotations

from random import Random

import pytest

from tests.support.tables import each_row

from .catalog import CORPUS, load, names, seeds
from .mutation import Mutator

MUTATIONS = 150
SLOW = {"conversation": 25}


def test_every_target_has_seeds() -> None:
    assert [path.name for path in sorted(CORPUS.iterdir())] == names()


@pytest.mark.slow
@each_row("name", names())
def test_seeds_end_as_foreseen(name: str) -> None:
    """F-WIRE-3 to F-WIRE-8: whatever a server sends, the outcome is one that was foreseen."""
    target = load(name)
    for data in seeds(name).values():
        target(data)
        target(data[: len(data) // 2])


@pytest.mark.slow
@each_row("name", names())
def test_mutated_seeds_end_as_foreseen(name: str) -> None:
    """F-WIRE-3 to F-WIRE-8: the same for generated inputs, which are the same in every run."""
    target, inputs = load(name), list(seeds(name).values())
    mutator, random = Mutator(inputs), Random(name)
    for _ in range(SLOW.get(name, MUTATIONS)):
        target(mutator.mutate(random.choice(inputs), random))
