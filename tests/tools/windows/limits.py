"""Tests that do not run under Wine, each with the reason: the one list of its limits."""

from __future__ import annotations

# Paths that are not tests of the library on Windows.
NOT_RUN = {
    "tests/tools/": "tests tools of POSIX machines, which nobody runs on Windows",
    "tests/tools/bench/": "measures, and tests what measures",
    "tests/tools/soak/": "as bench",
    "tests/tools/fuzz/": "as bench",
    "tests/test_floors.py": "reads the sources, which are the same everywhere",
}

_OUTPUTS = (
    "a program's stdout stays open as long as it runs, since Wine itself keeps a second descriptor"
)
_PERCENT = "Wine's cmd.exe does not read %%cd:~,% as Windows' own, where it hides a percent sign"
_BATCH = (
    "tests/net/process/test_windows.py::test_arguments_reach_what_a_batch_file_runs_as_they_are"
)

# Tests, by the beginning of their ids, that Wine answers otherwise than Windows does.
LIMITS = {
    "tests/client/test_client.py::"
    "test_a_client_whose_server_died_leaves_nothing_when_it_is_dropped": _OUTPUTS,
    "tests/transports/test_stdio.py::test_a_server_that_closes_its_output_is_of_no_use": _OUTPUTS,
    f"{_BATCH}[%NAME%]": _PERCENT,
    f"{_BATCH}[100%]": _PERCENT,
}
