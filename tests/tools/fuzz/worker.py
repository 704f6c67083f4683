"""One target under atheris, in its own process: ``python -m tests.tools.fuzz.worker NAME FLAG…``.

libFuzzer ends the process when it is done, so nothing comes after it. The flags are its own.
"""

from __future__ import annotations

import sys
from importlib import import_module
from random import Random

from .catalog import load, seeds
from .mutation import Mutator


def main(name: str, flags: list[str]) -> None:
    atheris = import_module("atheris")  # there only in the environment of `make fuzz`
    with atheris.instrument_imports(include=["mcpclient"]):
        target = load(name)
    mutator = Mutator(seeds(name).values())

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        random = Random(seed)
        choice = random.randrange(4)
        if choice == 0:
            data = mutator.change_tokens(data, random)
        elif choice == 1:
            data = mutator.change_json(data, random)
        if choice > 1 or random.randrange(2):
            data = atheris.Mutate(data, len(data) + 64)
        return data[:longest]

    atheris.Setup([sys.argv[0], *flags], target, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
