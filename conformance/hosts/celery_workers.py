"""In the workers of Celery, which loads the program, and then forks.

What is asked and answered goes through files, so that no broker has to run.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from celery import Celery

from mcpclient import UsageError, sync

SERVER = [sys.executable, os.environ.get("HOSTED_SERVER", "")]
FOLDER = Path(os.environ.get("HOSTED_FOLDER", "."))
IS_WORKER = "HOSTED_SERVER" in os.environ
INHERITED = sync.connect(SERVER) if IS_WORKER else None
RECONNECTING = sync.connect(SERVER, after_fork="reconnect") if IS_WORKER else None
OWN: list[sync.Client] = []


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


app = application(FOLDER) if IS_WORKER else Celery("hosted")


def echo(word: str) -> tuple[str, str, str, int]:
    """Call with a client of the parent's, with one that reconnects, and with an own one."""
    assert INHERITED is not None
    assert RECONNECTING is not None
    try:
        refused = INHERITED.call_tool("echo", {"message": word}).text
    except UsageError as error:
        refused = str(error)
    if not OWN:
        OWN.append(sync.connect(SERVER))
    texts = [each.call_tool("echo", {"message": word}).text for each in (RECONNECTING, OWN[0])]
    return refused, texts[0], texts[1], os.getpid()


app.task(name="hosted.echo")(echo)


def check(folder: Path) -> None:
    asking = application(folder)
    asked = {word: asking.send_task("hosted.echo", [word]) for word in "abcdefghijkl"}
    process_ids = set()
    for word, answer in asked.items():
        refused, reconnected, own, process_id = answer.get(timeout=60)
        assert "make another in this" in refused, refused
        assert (reconnected, own) == (word, word)
        process_ids.add(process_id)
    assert len(process_ids) == 2, process_ids


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        environment = {**os.environ, "HOSTED_SERVER": sys.argv[1], "HOSTED_FOLDER": name}
        command = ["celery", "-A", "conformance.hosts.celery_workers", "worker"]
        options = ["--pool=prefork", "--concurrency=2", "--loglevel=ERROR", "--without-gossip"]
        worker = subprocess.Popen(
            [sys.executable, "-m", *command, *options],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            check(Path(name))
        finally:
            worker.terminate()
            _, noise = worker.communicate(timeout=60)
        assert worker.returncode == 0, noise
        assert "Traceback" not in noise, noise


if __name__ == "__main__":
    main()
