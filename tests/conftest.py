"""Rules of every test: it cleans up, loses no exception, and declares its requirements.

Warnings are errors (see pyproject.toml), so a ResourceWarning and an exception in a finalizer fail
the test as well.
"""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import inspect
import logging
import os
import signal
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from mcpclient.client.connection.options import EraMemory
from tests.support import properties, virtual_time
from tests.support.leaks import Resources, left_behind
from tests.support.needs import NEEDS
from tests.support.settings import changed_since, settings_now

# The tests start hundreds of processes, of which each would otherwise compile the library anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell without job control starts background jobs with SIGINT ignored, and nohup does
# the same for SIGHUP. Every child process would inherit that: no signal of a test would have an
# effect.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# How fast a machine is decides no test, and in CI chance does not either.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "ci", settings.get_profile("default"), derandomize=True, database=None, print_blob=True
)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "default")


# What the library says of a task of its own that is never awaited, and that ought not to fail.
LOST_IN_THE_LIBRARY = {
    "a background task failed",
    "a subscription failed",
    "an attempt to connect %s failed",
}


# Seconds for one test, its set-up and tear-down included. Where nothing else runs, the slowest
# takes a twentieth of that.
HANGS_AFTER = 600.0

REAL_STDERR = pytest.StashKey[int]()  # and not the file that pytest puts in its place


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that hangs, or end its process where that cannot be, with all stacks shown.

    An event loop only logs an exception in one of its callbacks, so that more than one try may be
    needed. The process ends last, since xdist runs a test that ended its process again.
    """
    stderr = item.config.stash[REAL_STDERR]
    faulthandler.dump_traceback_later(HANGS_AFTER + 60, exit=True, file=stderr)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _fail_for_a_hang)
        signal.setitimer(signal.ITIMER_REAL, HANGS_AFTER, 5)
    try:
        return (yield)
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()


def _fail_for_a_hang(_number: int, _frame: object) -> None:
    faulthandler.dump_traceback(2)
    pytest.fail(f"the test has not ended within {HANGS_AFTER:g} s")


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Start half as many again as there are cores: many a test waits, which keeps no core busy."""
    cores = yield
    return cores + (cores + 1) // 2


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Keep ids short: pytest puts them into an environment variable, which Windows limits."""
    too_long = isinstance(val, (str, bytes)) and len(val) > 1000
    return f"{argname} of {len(val)}" if too_long else None  # type: ignore[arg-type]


# Files that take a worker longest; whoever began them last would work on when all others are done.
LONG = ("test_replay.py", "test_matrix.py", "test_sessions.py", "test_page.py", "test_copying.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rows = Counter[str]()
    for item in items:
        if mark := item.get_closest_marker("quick_rows"):
            function = item.nodeid.partition("[")[0]
            rows[function] += 1
            if rows[function] > mark.args[0]:
                item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.path.name not in LONG)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()  # objects made here are kept, and would be scanned again and again
    try:
        return (yield)
    finally:
        properties.prepare()
        _collect_garbage_for_good()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is None or nextitem.path != item.path:
        _collect_garbage_for_good()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    # For the process that hands out the tests, too: it has all their reports, and pytest will ask
    # the garbage collector five times over.
    _collect_garbage_for_good()


def _collect_garbage_for_good() -> None:
    """Collect the garbage, and spare the collector, which many a test asks for, all the rest.

    That is what pytest, caches and modules keep, and it stays to the end anyway.
    """
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[REAL_STDERR] = os.dup(2)
    config.option.loadscopereorder = False  # xdist's: files in the order of the tests
    if config.option.markexpr == "not slow":
        properties.try_fewer()
    for need in NEEDS:
        config.addinivalue_line("markers", f"{need.marker}: {need.reason}")
    lost = "loses_an_exception: makes a task of the library fail, which it can only log"
    config.addinivalue_line("markers", lost)
    virtual = "virtual_time: the coroutine runs on a clock that waits for nobody, see virtual_time"
    config.addinivalue_line("markers", virtual)
    real = "real_time: one of a module in virtual time whose coroutine waits for a child process"
    config.addinivalue_line("markers", real)
    slow = "slow: one of the few that `make test` leaves out and `make check` runs"
    config.addinivalue_line("markers", slow)
    rows = "quick_rows(count): the first of a test's rows; `make test` leaves out the others"
    config.addinivalue_line("markers", rows)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine function, in virtual time where it is marked so."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    coroutine = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    marks = {mark.name for mark in pyfuncitem.iter_markers()}
    is_virtual = "virtual_time" in marks and "real_time" not in marks
    (virtual_time.run if is_virtual else asyncio.run)(coroutine)
    return True


def pytest_runtest_setup(item: pytest.Item) -> None:
    for need in NEEDS:
        if item.get_closest_marker(need.marker) and not need.is_met():
            if need.expected_in_ci and os.environ.get("CI") == "true":
                pytest.fail(f"CI {need.reason}", pytrace=False)
            pytest.skip(need.reason)


@pytest.fixture(autouse=True)
def _leaves_all_as_it_was(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves something behind, changes the process, or loses an exception.

    What is left behind is a thread, a child process, a socket or a pipe; what is changed, a
    variable or the handler of a signal. An exception that ends up in a log would go
    unnoticed: any error of asyncio, and of the library what it says of its own tasks. A test that
    provokes that says so: ``@pytest.mark.loses_an_exception``.

    It is one fixture, since each costs every test a tenth of a millisecond.
    """
    held, settings_before = Resources.held_now(), settings_now()
    errors: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: errors.append(_with_traceback(record))  # type: ignore[method-assign]
    handler.addFilter(_is_lost)
    root = logging.getLogger()  # the library's own logger is left as a program finds it
    root.addHandler(handler)
    yield
    root.removeHandler(handler)
    faults = []
    if not request.node.get_closest_marker("loses_an_exception"):
        faults += ["exceptions were lost:", *errors] if errors else []
    elif not errors:
        faults.append("the test was to lose an exception, and did not")
    if changed := changed_since(settings_before):
        faults += ["the test did not give back:", *(f"  {each}" for each in changed)]
    if leaked := left_behind(held):
        faults += ["the test left behind:", *(f"  {each}" for each in leaked)]
    if faults:
        pytest.fail("\n".join(faults), pytrace=False)


@pytest.fixture
def fresh_eras(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have clients remember no era of a server that another test has talked to."""
    monkeypatch.setattr("mcpclient.client.client.Client._eras", EraMemory())


@pytest.fixture
def even_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses are exactly as long as they are meant to be."""
    monkeypatch.setattr("random.random", lambda: 0.5)


@pytest.fixture
def own_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the logins of this test in a file of its own."""
    monkeypatch.setenv("MCPCLIENT_CREDENTIALS", str(tmp_path / "credentials.json"))


def _is_lost(record: logging.LogRecord) -> bool:
    return record.name.startswith("asyncio") or record.msg in LOST_IN_THE_LIBRARY


def _with_traceback(record: logging.LogRecord) -> str:
    return logging.Formatter("%(message)s").format(record)
