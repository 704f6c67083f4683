"""In the workers of Celery, which loads the program, and then forks.

What is asked and answered goes through files, so that no broker has to run.
"""

import os
import tempfile
from pathlib import Path

from celery import Celery

from conformance.hosts import forked

FOLDER = Path(os.environ.get("HOSTED_FOLDER", "."))


def application(folder: Path) -> Celery:
    made = Celery("hosted", broker="filesystem://", backend=f"file://{folder / 'results'}")
    for name in ("results", "messages", "control"):
        (folder / name).mkdir(exist_ok=True)
    folders = {f"data_folder_{way}": str(folder / "messages") for way in ("in", "out")}
    made.conf.broker_transport_options = {
        **folders,
        "control_folder": str(folder / "control"),
        "store_processed": False,
    }
    made.conf.broker_connection_retry_on_startup = True
    return made


app = application(FOLDER) if forked.IS_HOSTED else Celery("hosted")


def echo(word: str) -> tuple[str, str, str, int]:
    """Call with each of the clients."""
    return forked.inherited(word), forked.reconnecting(word), forked.own(word), os.getpid()


app.task(name="hosted.echo")(echo)


def check(folder: Path) -> None:
    asking = application(folder)
    asked = {word: asking.send_task("hosted.echo", [word]) for word in "abcdefghijkl"}
    process_ids = set()
    for word, answer in asked.items():
        inherited, reconnected, own, process_id = answer.get(timeout=60)
        assert forked.REFUSAL in inherited, inherited
        assert (reconnected, own) == (word, word)
        process_ids.add(process_id)
    assert len(process_ids) == 2, process_ids


def main() -> None:
    program = ["celery", "-A", "conformance.hosts.celery_workers", "worker"]
    options = ["--pool=prefork", "--concurrency=2", "--loglevel=ERROR", "--without-gossip"]
    with (
        tempfile.TemporaryDirectory() as name,
        forked.running([*program, *options], HOSTED_FOLDER=name),
    ):
        check(Path(name))


if __name__ == "__main__":
    main()
