"""F-API-25, F-SHOW-8: what servers said, recorded once and replayed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient import UsageError
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


@pytest.mark.parametrize("mode", ["once", "all"])
def test_a_cassette_that_cannot_be_written_is_an_error(path: Path, mode: Mode) -> None:
    tape = cassette(path, mode=mode)
    use(tape, Server(), ("a",))
    path.mkdir()
    with pytest.raises(UsageError, match=r"cannot write the cassette .*folder"):
        tape.close()


def use_and_fail(path: Path, server: Server, mode: Mode) -> None:
    with cassette(path, mode=mode) as tape:
        use(tape, server, ("a",))
        raise LookupError


def test_a_failure_of_the_test_itself_is_not_covered_up(path: Path) -> None:
    """F-API-25: neither by calls that it did not come to, nor by half a recording."""
    server = Server()
    with pytest.raises(LookupError):
        use_and_fail(path, server, "once")
    assert list(path.parent.iterdir()) == []
    with cassette(path) as tape:
        use(tape, server, ("b",), ("a",))
    before = path.read_text("utf-8")
    modes: tuple[Mode, ...] = ("once", "all", "new")
    for mode in modes:
        with pytest.raises(LookupError):
            use_and_fail(path, server, mode)
        assert path.read_text("utf-8") == before


def test_each_mode_records_what_it_says(path: Path) -> None:
    """F-API-25: the server is asked for nothing else, and the file is the user's alone."""
    server = Server()
    ends: list[Any] = []
    with pytest.raises(UsageError, match="cannot read the recording"):
        cassette(path, mode="none")
    modes: tuple[Mode, ...] = ("all", "all", "none", "once")
    for mode, expected in zip(modes, ("a 1", "a 2", "a 2", "a 2")):
        with cassette(path, mode=mode) as tape:
            assert use(tape, server, ("a",)) == [expected]
    with cassette(path, mode="new") as tape:
        assert use(tape, server, ("b",), ("a",), on_close=ends.append) == ["b 3", "a 2"]
    assert ends == [None]
    with cassette(path, mode="none") as tape:
        assert use(tape, Server(), ("a",), ("b",)) == ["a 2", "b 3"]
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    if sys.platform != "win32":
        assert path.stat().st_mode & 0o777 == 0o600
