"""What is not run under Wine, each with the reason: the one list of its limits."""

from __future__ import annotations

# Paths that are not tests of the library on Windows.
NOT_RUN = {
    "tests/tooling/": "tests tools of POSIX machines, which nobody runs on Windows",
    "tests/bench/": "measures, and tests what measures",
    "tests/soak/": "as bench",
    "tests/fuzz/": "as bench",
}

_ENDS = "the other end of a connection is told to be closed only some milliseconds after its data"
_OUTPUTS = (
    "a program's stdout stays open as long as it runs, since Wine itself keeps a second descriptor"
)

_PERCENT = "Wine's cmd.exe does not read %%cd:~,% as Windows' own, where it hides a percent sign"
_BATCH = (
    "tests/net/process/test_windows.py::test_arguments_reach_what_a_batch_file_runs_as_they_are"
)

_CUT = (
    "a connection that the client cuts while the server writes stays open on the server's side for "
    "seconds; whether it does so on Windows is not known"
)
_FAULT = "tests/faults/test_http_faults.py::test_a_fault_fails_its_call_and_nothing_else"

# Tests, by the beginning of their ids, that Wine answers otherwise than Windows does.
LIMITS = {
    "tests/faults/test_http_faults.py::test_an_odd_answer_is_an_answer": _ENDS,
    "tests/net/test_http.py::"
    "test_a_goodbye_still_unread_is_noticed_before_the_connection_is_used": _ENDS,
    "tests/client/test_client.py::"
    "test_a_client_whose_server_died_leaves_nothing_when_it_is_dropped": _OUTPUTS,
    f"{_FAULT}[trickl": _CUT,
    f"{_FAULT}[endless": _CUT,
    f"{_FAULT}[error without a code": _ENDS,
    f"{_BATCH}[%NAME%]": _PERCENT,
    f"{_BATCH}[100%]": _PERCENT,
}
