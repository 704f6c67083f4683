"""F-API-25, F-SHOW-8: what servers said, recorded once and replayed."""

from __future__ import annotations

import asyncio
import sys
import unittest
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient import NotRecorded, UsageError, testing
from mcpclient.sync.loop_thread import end_loop_thread
from mcpclient.testing import Cassette, Mode, cassette
from mcpclient.transports.inprocess import InProcessTransport
from tests.client.scripted_server import HANDSHAKE, Json, ScriptedServer
from tests.support.mcp_server import text_result
from tests.support.subprocesses import TOP

SECRET = "Bearer very-secret-token-0123456789"


class Server(ScriptedServer):
    """Counts its calls; the text of an answer says how many there were."""

    def __init__(self) -> None:
        super().__init__({"tools/call": self._call}, version=HANDSHAKE, capabilities={"tools": {}})
        self.calls = 0

    def target(self) -> InProcessTransport:
        return InProcessTransport(self.serve)

    def _call(self, params: Json) -> Json:
        self.calls += 1
        return text_result(f"{params['name']} {self.calls}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cassettes" / "counter.jsonl"


def use(tape: Cassette, server: Server, *calls: Any, **options: Any) -> list[str]:
    """Make calls, with one client, and return the answers."""

    async def main() -> list[str]:
        target = server.target()
        options.setdefault("protocol_version", "2025-11-25")
        async with tape.connect(target, **options) as client:
            return [(await client.call_tool(*call)).text for call in calls]

    return asyncio.run(main())


def test_once_records_and_then_replays(path: Path) -> None:
    """F-API-25: the second run needs no server, and gets the same answers."""
    server = Server()
    for _ in range(2):
        with cassette(path) as tape:
            assert use(tape, server, ("a",), ("a",), ("b", {"x": 1})) == ["a 1", "a 2", "b 3"]
    assert server.calls == 3


def test_one_cassette_serves_several_clients(path: Path) -> None:
    """F-API-25: one after the other; each gets what the one before has left."""
    server = Server()
    for _ in range(2):
        with cassette(path) as tape:
            assert use(tape, server, ("a",)) == ["a 1"]
            assert use(tape, server, ("a",)) == ["a 2"]
    assert server.calls == 2


def test_calls_left_unplayed_fail(path: Path) -> None:
    """F-API-25: a program that makes a call no more has changed."""
    server = Server()
    with cassette(path) as tape:
        use(tape, server, *((name,) for name in "abcdefgh"))
        tape.assert_all_played()
    tape = cassette(path)
    use(tape, server, ("a",))
    with pytest.raises(AssertionError, match="7 recorded calls were") as raised:
        tape.close()
    for text in ('tools/call {"name": "b"', '"name": "h"', 'mode="all"'):
        assert text in str(raised.value)
    assert '"name": "a"' not in str(raised.value)


def use_and_fail(path: Path, server: Server, mode: Mode = "once") -> None:
    with cassette(path, mode=mode) as tape:
        use(tape, server, ("a",))
        raise LookupError


def test_a_failure_of_the_test_itself_is_not_covered_up(path: Path) -> None:
    """F-API-25: neither by calls that it did not come to, nor by half a recording."""
    server = Server()
    with pytest.raises(LookupError):
        use_and_fail(path, server)
    assert list(path.parent.iterdir()) == []
    with cassette(path) as tape:
        use(tape, server, ("a",), ("b",))
    with pytest.raises(LookupError):
        use_and_fail(path, server)
    before = path.read_text("utf-8")
    with pytest.raises(LookupError):
        use_and_fail(path, server, mode="all")
    assert path.read_text("utf-8") == before


def test_what_was_not_recorded_raises(path: Path) -> None:
    """F-SHOW-8: never a call of the real server behind the test's back."""
    server = Server()
    with cassette(path) as tape:
        use(tape, server, ("a",))
    with pytest.raises(NotRecorded), cassette(path) as tape:
        use(tape, server, ("b",))
    assert server.calls == 1


def test_a_stale_file_is_recorded_anew_by_mode(path: Path) -> None:
    """F-API-25: ``all``; and ``none`` never records."""
    server = Server()
    with pytest.raises(UsageError, match="cannot read the recording"):
        cassette(path, mode="none")
    for mode, expected in (("all", "a 1"), ("all", "a 2"), ("none", "a 2"), ("once", "a 2")):
        with cassette(path, mode=mode) as tape:  # type: ignore[arg-type]
            assert use(tape, server, ("a",)) == [expected]


def test_what_an_interrupted_test_left_is_not_kept(path: Path) -> None:
    """F-API-25: no call of it is in the file of the next."""
    server = Server()
    use(cassette(path), server, ("x",))
    with cassette(path) as tape:
        use(tape, server, ("a",))
    with cassette(path, mode="none") as tape:
        assert use(tape, server, ("a",)) == ["a 2"]


def test_a_client_that_asks_the_server_for_what_is_new_is_nobody_elses_concern(path: Path) -> None:
    """F-API-25: with ``new`` it closes beside the caller's, who is told of that one."""
    ends: list[Any] = []
    server = Server()
    with cassette(path, mode="new") as tape:
        use(tape, server, ("a",))
    with cassette(path, mode="new") as tape:
        use(tape, server, ("a",), ("b",), on_close=ends.append)
    assert (server.calls, ends) == (2, [None])


def test_new_calls_are_recorded_beside_the_old_ones(path: Path) -> None:
    """F-API-25: ``new`` asks the server for what is new, and for nothing else."""
    server = Server()
    for calls, made in ((("a",), ("b",)), 2), ((("a",), ("c",), ("b",), ("d",)), 4):
        with cassette(path, mode="new") as tape:
            found = use(tape, server, *calls)
        assert server.calls == made
    assert found == ["a 1", "c 3", "b 2", "d 4"]
    with cassette(path, mode="none") as tape:
        assert use(tape, Server(), *(("a",), ("c",), ("b",), ("d",))) == found
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_failure_keeps_nothing_that_is_new(path: Path) -> None:
    """F-API-25: and a call that is left unplayed is still said, once the new ones are kept."""
    server = Server()
    with cassette(path) as tape:
        use(tape, server, ("b",))
    before = path.read_text("utf-8")
    with pytest.raises(LookupError):
        use_and_fail(path, server, mode="new")
    assert path.read_text("utf-8") == before
    tape = cassette(path, mode="new")
    use(tape, server, ("a",))
    with pytest.raises(AssertionError, match="1 recorded call was"):
        tape.close()
    assert '"name":"a"' in path.read_text("utf-8").replace(" ", "")


def test_what_has_to_be_the_same_is_up_to_the_test(path: Path) -> None:
    """F-API-25: arguments that differ from run to run, such as times."""
    server = Server()
    with cassette(path) as tape:
        use(tape, server, ("a", {"now": 1}), ("b", {"now": 1}))
    with cassette(path, match=["method", "params.name"]) as tape:
        assert use(tape, server, ("b", {"now": 2}), ("a", {"now": 3})) == ["b 2", "a 1"]
    with cassette(path, match=["method"]) as tape:
        assert use(tape, server, ("x",), ("y",)) == ["a 1", "b 2"]
    for wrong in (["params"], "method", ["method", "headers"]):
        with pytest.raises(UsageError, match="match is"):
            cassette(path, match=wrong)


def test_secrets_are_not_in_the_file_and_do_not_matter(path: Path) -> None:
    """F-API-25, F-SHOW-3: the options that reach the server are left out in a replay."""
    server = Server()
    for secret in (SECRET, "Bearer another-secret-token-98765432"):
        with cassette(path) as tape:
            call = ("a", {"authorization": secret})
            assert use(tape, server, call, headers={"X-Key": "k"}) == ["a 1"]
    assert "very-secret" not in path.read_text("utf-8")
    with cassette(path) as tape:
        call = ("a", {"authorization": SECRET})
        assert use(tape, server, call, auth="x", env={"A": "b"}, transport="http") == ["a 1"]


def test_what_makes_no_sense_is_refused(path: Path) -> None:
    wrong: Any = "sometimes"
    with pytest.raises(UsageError, match="mode is"):
        cassette(path, mode=wrong)
    with pytest.raises(UsageError, match="leave out trace="), cassette(path) as tape:
        tape.connect("x", trace="y")
    with cassette(path):
        pass
    assert not path.exists()


def test_programs_without_async_use_it_too(path: Path) -> None:
    """F-API-18, F-API-25: over a real server process, which the replay does without."""
    script = TOP / "mcpclient" / "testing" / "demo_server.py"
    try:
        for target in ([sys.executable, str(script)], ["no-such-command"]):
            with cassette(path) as tape, tape.sync_connect(target) as client:
                assert client.call_tool("add", {"a": 1, "b": 2}).data == {"sum": 3}
    finally:
        end_loop_thread()


def test_it_works_in_unittest(path: Path) -> None:
    """F-API-25: also in a test case that is asynchronous itself."""
    server = Server()

    class Case(unittest.IsolatedAsyncioTestCase):
        async def test_call(self) -> None:
            tape = self.enterContext(cassette(path)) if hasattr(self, "enterContext") else None
            if tape is None:  # before Python 3.11
                tape = cassette(path)
                self.addCleanup(tape.close)
            async with tape.connect(server.target(), protocol_version="2025-11-25") as client:
                assert (await client.call_tool("a")).text == "a 1"

    for _ in range(2):
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
        assert result.wasSuccessful(), result.errors
    assert server.calls == 1


def test_its_names_are_public() -> None:
    assert mcpclient.testing is testing
    assert set(Mode.__args__) == {"once", "none", "all", "new"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("mode", ["once", "all", "new"])
def test_two_that_record_one_cassette_leave_a_whole_one(path: Path, mode: Mode) -> None:
    """F-API-25: as two processes of a test run do; nothing of one stands in the other's."""
    first, second = cassette(path, mode=mode), cassette(path, mode=mode)
    use(first, Server(), ("a",))
    use(second, Server(), ("b",))
    use(first, Server(), ("c",))
    first.close()
    use(second, Server(), ("d",))
    second.close()
    with cassette(path, mode="none") as tape:
        assert use(tape, Server(), ("b",), ("d",)) == ["b 1", "d 1"]
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_two_that_add_to_one_cassette_keep_each_others_calls(path: Path) -> None:
    """F-API-25"""
    with cassette(path) as tape:
        use(tape, Server(), ("a",))
    first, second = cassette(path, mode="new"), cassette(path, mode="new")
    use(first, Server(), ("a",), ("b",))
    use(second, Server(), ("a",), ("c",))
    first.close()
    second.close()
    with cassette(path, mode="none") as tape:
        assert use(tape, Server(), ("a",), ("b",), ("c",)) == ["a 1", "b 1", "c 1"]


@pytest.mark.parametrize("mode", ["once", "all"])
def test_a_cassette_that_cannot_be_written_is_an_error(path: Path, mode: Mode) -> None:
    tape = cassette(path, mode=mode)
    use(tape, Server(), ("a",))
    path.mkdir()
    with pytest.raises(UsageError, match=r"cannot write the cassette .*folder"):
        tape.close()
