"""The translation of the fuzzer's own words; the fuzzer itself runs with `make fuzz`."""

from __future__ import annotations

from random import Random

from .__main__ import Outcome, outcome_of
from .mutation import Mutator

LOG = """INFO: seed corpus: files: 5 min: 14b max: 52b total: 185b rss: 43Mb
#6	INITED cov: 83 ft: 150 corp: 5/185b exec/s: 0 rss: 43Mb
#8	NEW    cov: 84 ft: 171 corp: 7/248b lim: 4096 exec/s: 0 rss: 43Mb L: 49/52 MS: 2 ChangeBit-
#6352	DONE   cov: 87 ft: 512 corp: 53/3kb lim: 4096 exec/s: 705 rss: 43Mb
stat::number_of_executed_units: 6352
stat::average_exec_per_sec:     705
"""
CRASH = """ === Uncaught Python exception: ===
ValueError: year 0 is out of range
artifact_prefix='.fuzz/cookies/findings/'; Test unit written to .fuzz/cookies/findings/crash-1
"""


def test_a_run_that_found_nothing() -> None:
    outcome = outcome_of("sse", LOG, 0)
    assert outcome == Outcome("sse", 6352, 705, (83, 87), None, False)
    assert str(outcome).split() == [
        "sse",
        "6352",
        "runs",
        "705/s",
        "87",
        "edges",
        "(+4)",
        "nothing",
    ]


def test_a_run_that_found_something() -> None:
    outcome = outcome_of("cookies", LOG + CRASH, 77)
    assert outcome.failed
    assert str(outcome).endswith("FOUND .fuzz/cookies/findings/crash-1")


def test_mutations_follow_from_the_seed_and_use_the_corpus() -> None:
    corpus = [b'{"alpha": [1, {"beta": null}]}\nomega', b"\xff"]
    mutator = Mutator(corpus)
    found = [mutator.mutate(corpus[0], Random(seed)) for seed in range(50)]
    assert found == [mutator.mutate(corpus[0], Random(seed)) for seed in range(50)]
    assert len(set(found)) > 40
    changed = [mutator.change_json(corpus[0], Random(seed)) for seed in range(50)]
    assert any(b'"beta": {' in data or b'"beta": [' in data for data in changed)
