"""F-CONF-1: what is captured from the reference clients, and how."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
from pathlib import Path
from typing import Callable

import pytest

from conformance.capture import official
from conformance.capture.__main__ import TRANSCRIPTS, main, transcripts
from conformance.capture.collection import SCRIPTS
from conformance.capture.records import Cleaner, Places
from conformance.capture.taps import NOTE, RECEIVED, SENT, Seen
from conformance.capture.taps import stdio as stdio_tap
from conformance.capture.taps.http import HttpTap
from conformance.capture.targets import OTHERS
from conformance.client_driver import SCENARIOS
from conformance.replay.differences import DIFFERENCES
from conformance.scripts import FAILURES, Script, numbered, problems
from conformance.workspace import free_port
from mcpclient.protocol.negotiation import STATELESS_VERSIONS
from mcpclient.recording.transcript import (
    Transcript,
    bytes_of_event,
    bytes_of_payload,
    read_transcripts,
)
from tests.support.tables import check_each

FILES = sorted(TRANSCRIPTS.rglob("*.jsonl"))
OFFICIAL = [file for file in FILES if file.parent == official.TRANSCRIPTS]
NAMES = [file.relative_to(TRANSCRIPTS).as_posix() for file in FILES]

# Secrets of our own servers, and what only one machine has.
SECRETS = ("the-secret-of", "the-id-of-session", "the-token-with", "the-refresh-token-with")
MACHINE = re.compile(
    r"/tmp/|/var/folders|/root\b|/usr/|/home/(?!ada)|/Users/|C:\\\\|site-packages"
    r"|(?:127\.0\.0\.1|localhost)(?::|%3A)(?!5000[0-9]|3000)\d"
)


# The reference clients: the second is the one that knows the stateless era.
CLIENTS = {
    "sdk1": r"@modelcontextprotocol/sdk@1\.29\.0",
    "client2": r"@modelcontextprotocol/client@2\.[\d.]+",
    "python1": r"mcp==1\.[\d.]+",
    "python2": r"mcp==2\.\d+\.\d+",
    "inspector": r"@modelcontextprotocol/inspector@2\.[\d.]+",
    "codex": r"@openai/codex@[\d.]+",
    "mcpclient": r"mcpclient==[\d.]+",
}
PROGRAMS = ("inspector", "codex")


def read(file: Path) -> Transcript:
    with file.open(encoding="utf-8") as lines:
        (transcript,) = read_transcripts(lines)
    return transcript


def test_the_vocabulary_of_the_scripts_is_closed() -> None:
    assert [problem for script in SCRIPTS for problem in problems(script)] == []


def test_a_word_that_is_not_known_is_named() -> None:
    steps = ({"do": "dance"}, {"do": "call_tool", "name": "a"}, {"do": "ping", "loudly": True})
    assert list(problems(Script("odd", "any", steps, client={"model": []}))) == [
        "odd: step 0 is no known step: 'dance'",
        "odd: step 1 (call_tool) needs 'arguments'",
        "odd: step 2 (ping) does not know 'loudly'",
        "odd: the client does not know 'model'",
    ]


def test_every_script_has_its_transcripts_and_no_other_is_there() -> None:
    made = [path for path, _, _ in transcripts()]
    assert len(made) == len(set(made)) >= 60
    assert sorted(made) == [name for name in NAMES if not name.startswith("official/")]
    own = {"own-stdio", "own-http", "own-sse", "own-ws"}
    assert {Path(path).parts[0] for path in made} == {"stdio", "http", "sse", "ws"} | own


def test_what_this_library_does_is_judged_by_a_clause_and_nothing_is_accepted() -> None:
    """F-CONF-2: sessions in which it is the client are apart from reference clients'."""
    for path, script, _ in transcripts():
        assert (script.driver == "mcpclient") == path.startswith("own-") == bool(script.clause)
        assert not (script.clause and [item for item in DIFFERENCES if item.names(path[:-6])])


def is_that_of_its_script(row: tuple[str, Script, str]) -> None:
    path, script, transport = row
    header = read(TRANSCRIPTS / path).header
    expected = json.loads(json.dumps(script.as_json()))
    assert header["transport"] == transport
    assert header["script"]["transports"] == [transport]
    for name in expected.keys() - {"transports", "auth"}:
        assert header["script"][name] == expected[name], name
    assert re.fullmatch(CLIENTS[script.driver], header["client"]["package"])
    assert script.revision not in STATELESS_VERSIONS or script.driver not in ("sdk1", "python1")
    assert re.search(r"[@=]\d", header["server"]["package"])
    assert header["server"]["command"][0] in ("node", "python", *OTHERS, "azmcp")


def test_every_official_scenario_is_recorded_or_left_out_for_a_reason() -> None:
    """F-CONF-4: of those recorded, the suite has passed every check."""
    recorded = {read(file).header["server"]["name"]: file.name for file in OFFICIAL}
    assert recorded.keys() | official.LEFT_OUT.keys() == SCENARIOS.keys()
    assert not recorded.keys() & official.LEFT_OUT.keys()
    for file in OFFICIAL:
        header = read(file).header
        assert file.name == official.file_name(header["server"]["name"])
        assert header["passed"] > 0
        assert header["server"]["package"].startswith("@modelcontextprotocol/conformance@")


def tells_what_came_of_every_step(file: Path) -> None:
    transcript = read(file)
    notes = [record for record in transcript.records if record["channel"] == "script"]
    if file in OFFICIAL:
        assert [set(note) & {"begins", "outcome", "closed"} for note in notes if "step" in note]
        return
    header = transcript.header
    outcomes = {note["step"]: note["outcome"] for note in notes if "outcome" in note}
    begun = {note["step"]: note["do"] for note in notes if "begins" in note}
    steps = {number: step["do"] for number, step in numbered(header["script"]["steps"])}
    connected = [note["connected"] for note in notes if "connected" in note]
    if header["script"]["driver"] in PROGRAMS:  # They say what their user wants to know.
        assert not connected
        assert begun.items() <= steps.items()
        assert outcomes.keys() == begun.keys() != set()
        assert header["protocol_version"] == header["script"]["revision"]
        assert header["client"]["info"]["name"] != "reference-client"
        return
    (known,) = connected
    if "failed" in known or "error" in known:
        assert not outcomes
        return
    assert begun == steps
    assert outcomes.keys() == steps.keys()
    assert known["protocol_version"] == header["script"]["revision"]
    for outcome in outcomes.values():
        assert len(outcome.keys() & {"result", "error", "failed"}) == 1
        assert outcome.get("failed", "other") in FAILURES


def is_consistent(file: Path) -> None:
    records = read(file).records
    times = [record["time"] for record in records]
    assert times == sorted(times)
    for record in records:
        for name, value in record.get("http", {}).get("headers", []):
            if name.lower() == "content-length":
                stream = (record["channel"], record["direction"])
                events = [one for one in records if (one["channel"], one["direction"]) == stream]
                length = sum(len(bytes_of_event(one)) for one in events if "event" in one)
                assert int(value) == length + len(bytes_of_payload(record))


def holds_no_secret_and_names_no_machine(file: Path) -> None:
    text = file.read_text("utf-8")
    assert [secret for secret in SECRETS if secret in text] == []
    assert MACHINE.findall(text) == []
    for record in read(file).records:
        for name, value in record.get("http", {}).get("headers", []):
            if name.lower() in ("authorization", "mcp-session-id"):
                assert re.fullmatch(r"((Bearer|Basic) )?redacted-\d+", value)
    assert not re.search(r"Bearer (?!redacted-\d|error=|scope=|resource_metadata=)", text)
    assert len(text.encode()) < 100_000


def test_a_secret_is_hidden_also_before_it_is_known_to_be_one() -> None:
    head = {"status": 200, "reason": "OK", "headers": [("Mcp-Session-Id", "0123456789abcdef")]}
    early = Seen(RECEIVED, "http-1", {}, event=b"data: session 0123456789abcdef\n\n")
    session = Seen(RECEIVED, "http-2", {"http": head})
    note = Seen(NOTE, "script", {"outcome": {"result": {"text": "in 0123456789abcdef"}}})
    records = Cleaner(Places()).records([early, session, note])
    assert records[0]["event"] == {"data": "session redacted-1"}
    assert records[1]["http"]["headers"] == [["Mcp-Session-Id", "redacted-1"]]
    assert records[2]["outcome"] == {"result": {"text": "in redacted-1"}}


@pytest.mark.slow
def test_every_transcript_is_that_of_its_script() -> None:
    check_each(transcripts(), is_that_of_its_script)


@pytest.mark.slow
@pytest.mark.parametrize(
    "check", [tells_what_came_of_every_step, is_consistent, holds_no_secret_and_names_no_machine]
)
def test_every_transcript(check: Callable[[Path], None]) -> None:
    assert FILES
    check_each(FILES, check)


EVENTS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"9\r\ndata: 1\n\n\r\n"
)


class HttpServer:
    """Answers every request with the same bytes, and reports its requests and when it was left."""

    def __init__(self, answer: bytes, *, cut: bool) -> None:
        self._answer = answer
        self._cut = cut
        self.got = b""
        self.left = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            self.got += data
            if data.endswith(b"}"):
                writer.write(self._answer)
                if self._cut:
                    break
        writer.close()
        self.left.set()


async def through_http_tap(
    response: bytes, until: bytes = b"", *, cut: bool = False
) -> tuple[bytes, list[Seen]]:
    """Send one request through the tap, go away when ``until`` has come, and return both views."""
    server = HttpServer(response, cut=cut)
    port, server_port = free_port(), free_port()
    tap = HttpTap({port: server_port})
    listening = await asyncio.start_server(server, "127.0.0.1", server_port)
    async with listening, tap.serving():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = b'{"at":"127.0.0.1:%d"}' % port
        head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %d\r\n\r\n"
        writer.write(head % (port, len(body)) + body)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while not (until and until in answer) and not reader.at_eof():
                answer += await reader.read(65536)
        writer.close()
        await server.left.wait()
    assert b'{"at":"127.0.0.1:%d"}' % server_port in server.got
    assert b"Host: 127.0.0.1:%d" % server_port in server.got
    return answer, tap.seen


def test_the_tap_of_http_passes_events_on_as_they_come_and_that_the_client_left() -> None:
    answer, seen = asyncio.run(through_http_tap(EVENTS, b"data: 1\n\n"))
    assert b"data: 1\n\n" in answer
    assert seen[2].event == b"data: 1\n\n"
    assert (seen[3].direction, seen[3].facts) == (SENT, {"end": "closed"})


async def test_the_tap_of_stdio_relays_lines_and_writes_them_down(tmp_path: Path) -> None:
    program = (
        "import sys; print('ready', file=sys.stderr); sys.stderr.flush();"
        "sys.stdout.write(sys.stdin.readline().upper()); sys.stdin.read()"
    )
    file = tmp_path / "seen"
    command = [sys.executable, stdio_tap.__file__, str(file), sys.executable, "-c", program]
    relay = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await relay.communicate("grüße\n".encode())

    assert (output, relay.returncode) == ("GRÜSSE\n".encode(), 0)
    seen = [Seen(**members) for members in stdio_tap.read_seen(file)]
    on_stdio = [(one.direction, one.line or one.facts) for one in seen if one.channel == "stdio"]
    assert on_stdio[0] == (SENT, "grüße\n".encode())
    assert sorted(on_stdio[1:], key=str) == [
        (RECEIVED, b"GR\xc3\x9cSSE\n"),
        (RECEIVED, {"end": "complete"}),
        (SENT, {"end": "closed"}),
    ]
    assert [one.line for one in seen if one.channel == "stderr"] == [b"ready\n"]


def test_all_are_made_again_only_when_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    assert "--all makes " in capsys.readouterr().err


def test_all_transcripts_together_stay_small() -> None:
    assert sum(file.stat().st_size for file in FILES) < 10_000_000
