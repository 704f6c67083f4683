"""In the workers of a pool that forks: each has a client of its own."""

import multiprocessing
import sys
import warnings

from mcpclient import UsageError, sync

SERVER = [sys.executable, sys.argv[1]]
PARENTS: list[sync.Client] = []
OWN: list[sync.Client] = []


def work(word: str) -> tuple[str, str]:
    try:
        inherited = PARENTS[0].call_tool("echo", {"message": word}).text
    except UsageError as error:
        inherited = str(error)
    if not OWN:
        OWN.append(sync.connect(SERVER))
    return inherited, OWN[0].call_tool("echo", {"message": word}).text


def main() -> None:
    warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
    PARENTS.append(sync.connect(SERVER))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for word, (inherited, own) in zip("abcdefgh", pool.map(work, "abcdefgh", 1)):
            assert "make another in this process" in inherited, inherited
            assert own == word
    assert PARENTS[0].call_tool("echo", {"message": "parent"}).text == "parent"


if __name__ == "__main__":
    main()
