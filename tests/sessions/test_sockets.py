"""The sockets of sessions: where they are, who may use them, and the removal of dead ones."""

from __future__ import annotations

import _socket
import asyncio
import fcntl
import json
import os
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpclient import UsageError
from mcpclient.net.user_folders import state_folder
from mcpclient.sessions import front, sockets
from mcpclient.sessions.front import is_session_name, sessions_folder
from mcpclient.sessions.sockets import (
    Place,
    ask,
    bind,
    check_private,
    clean,
    detach,
    is_own_peer,
    listen,
    open_own,
    session_names,
    start_in_background,
)

pytestmark = pytest.mark.needs_posix

PLATFORMS = ("linux", "darwin", "win32")


@pytest.fixture
def environ() -> Iterator[dict[str, str]]:
    folder = tempfile.mkdtemp(prefix="mc", dir="/tmp")  # pytest's are too long for sockets
    yield {"XDG_RUNTIME_DIR": folder, "LOCALAPPDATA": folder}
    shutil.rmtree(folder)


def answering(listener: socket.socket, answer: bytes) -> tuple[threading.Thread, list[Any]]:
    """Answer one line, as the process of a session does, and keep it."""
    asked: list[Any] = []

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            asked.append(json.loads(lines.readline()))
            connection.sendall(answer)
        listener.close()

    thread = threading.Thread(target=serve)
    thread.start()
    return thread, asked


@pytest.mark.parametrize("platform", PLATFORMS)
def test_sessions_are_in_the_state_folder(platform: str, tmp_path: Path) -> None:
    """F-SHOW-12: where there is no runtime folder; the front end computes it by itself."""
    environ = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    expected = state_folder(environ, platform) / "sessions"
    assert Path(sessions_folder(environ, platform)) == expected


def test_relative_folders_do_not_count() -> None:
    """F-SAFE-8: whoever chose the working directory would choose the session."""
    relative = {"HOME": "/h", "XDG_RUNTIME_DIR": "r", "XDG_STATE_HOME": "s"}
    assert sessions_folder(relative, "linux") == "/h/.local/state/mcpclient/sessions"


def test_names() -> None:
    """F-SHOW-12: a name is a file's, and never a path."""
    assert all(map(is_session_name, ("a", "my-server_2", "A" * 40)))
    assert not any(map(is_session_name, ("", "-", "a.b", "a/b", "ä", "a b", "A" * 41)))
    with pytest.raises(UsageError, match="@a/b cannot be the name"):
        Place.of("a/b", {})


def test_a_name_is_open_once(environ: dict[str, str]) -> None:
    """F-SHOW-12: the socket says so, and no file; one without a listener is taken over."""
    place = Place.of("it", environ)
    listener, token = listen(place)
    assert token == ""
    assert session_names(environ) == ["it"]
    with pytest.raises(UsageError, match="@it is open already"):
        listen(place)
    clean(place)
    for name in ("b", "c", "a", "no.name"):
        Path(place.folder, f"{name}.link").touch()
    assert session_names(environ) == ["a", "b", "c", "it"]
    listener.close()
    again, _ = listen(place)
    again.close()
    bind(place.run).close()
    clean(place)
    assert {"it.link", "it.run"}.isdisjoint(os.listdir(place.folder))
    assert session_names({"XDG_RUNTIME_DIR": "/no/such"}) == []


def make_link(folder: Path, elsewhere: Path) -> None:
    folder.symlink_to(elsewhere)


def open_to_a_group(folder: Path, elsewhere: Path) -> None:
    folder.mkdir(mode=0o700)
    folder.chmod(0o750)


def below_one_of_all(folder: Path, elsewhere: Path) -> None:
    folder.mkdir(mode=0o700)
    folder.parent.chmod(0o777)


@pytest.mark.parametrize(
    ("owner", "around", "mode", "is_private"),
    [
        (1000, 1000, 0o755, True),
        (1000, 0, 0o1777, True),
        (0, 0, 0o755, False),
        (1000, 1001, 0o755, False),
        (1000, 1000, 0o775, False),
    ],
)
def test_a_folder_is_private(
    owner: int, around: int, mode: int, is_private: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-12: if it is this user's, and no other user could put another one in its place."""

    def status(mode: int, user: int) -> os.stat_result:
        return os.stat_result((mode, 0, 0, 2, user, 0, 0, 0, 0, 0))

    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: 1000)
        patched.setattr(os, "lstat", lambda path: status(0o40700, owner))
        patched.setattr(os, "stat", lambda path: status(0o40000 | mode, around))
        found = front.is_private("/run/user/mcpclient")
    assert found is is_private


@pytest.mark.parametrize("prepare", [make_link, open_to_a_group, below_one_of_all])
def test_a_folder_that_others_may_use_is_refused(
    prepare: Callable[[Path, Path], None], environ: dict[str, str], tmp_path: Path
) -> None:
    """F-SHOW-12: by whatever uses it, and before anything in it is touched."""
    tmp_path.chmod(0o700)
    folder, place = Path(environ["XDG_RUNTIME_DIR"], "mcpclient"), Place.of("it", environ)
    prepare(folder, tmp_path)
    (folder / "it.link").touch()
    for use in (
        lambda: listen(place),
        lambda: session_names(environ),
        lambda: ask(place, "mcpclient/state"),
    ):
        with pytest.raises(UsageError, match="other users may use"):
            use()
    assert os.listdir(folder) == ["it.link"]


@pytest.mark.parametrize("name", ["lock", "it.log"])
def test_no_link_in_it_is_followed(name: str, environ: dict[str, str], tmp_path: Path) -> None:
    """F-SHOW-12"""
    folder, place = Path(environ["XDG_RUNTIME_DIR"], "mcpclient"), Place.of("it", environ)
    folder.mkdir(mode=0o700)
    (folder / name).symlink_to(tmp_path / "new")
    if name == "lock":
        with pytest.raises(UsageError, match="cannot lock"):
            listen(place)
    else:
        with pytest.raises(OSError, match="symbolic links"):
            open_own(place.log, os.O_WRONLY | os.O_CREAT)
    assert not os.listdir(tmp_path)


def test_sockets_are_made_and_removed_under_a_lock(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-12: otherwise one process could remove the socket that another has just made."""
    place = Place.of("it", environ)

    def look(_: Place) -> bool:
        with open(Path(place.folder, "lock"), "ab") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False

    monkeypatch.setattr(sockets, "_is_live", look)
    listen(place)[0].close()
    clean(place)
    assert session_names(environ) == []


def test_a_session_that_is_silent_is_not_waited_for(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-12: nothing accepts the connection."""
    monkeypatch.setattr(sockets, "_ANSWERS_WITHIN", 0.01)
    place = Place.of("it", environ)
    with listen(place)[0], pytest.raises(UsageError, match="does not answer: timed out"):
        ask(place, "mcpclient/state")


def test_a_session_of_another_user_is_not_asked(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-12"""
    place = Place.of("it", environ)
    with listen(place)[0]:
        monkeypatch.setattr(sockets, "peer_user", lambda connection: os.geteuid() + 1)
        with pytest.raises(UsageError, match="a session of another user"):
            ask(place, "mcpclient/close")


def test_a_path_that_is_too_long_is_an_error(tmp_path: Path) -> None:
    """F-SHOW-12: the systems allow about a hundred bytes."""
    for platform, longest in (("linux", 107), ("darwin", 103)):
        fits = "/" + "x" * (longest - len("//mcpclient/it.link"))
        assert len(Place.of("it", {"XDG_RUNTIME_DIR": fits}, platform).link) == longest
        with pytest.raises(UsageError, match="too long for the path of a socket"):
            Place.of("its", {"XDG_RUNTIME_DIR": fits}, platform)
    with pytest.raises(UsageError, match="cannot listen at"):
        bind(str(tmp_path / ("x" * 120)))
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot use the folder"):
        check_private(str(tmp_path / "file" / "below"), create=True)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs root")
def test_nothing_is_made_in_the_folder_of_another_user(tmp_path: Path) -> None:
    """F-SHOW-12: as after sudo, with the XDG_RUNTIME_DIR of the one before."""
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(UsageError, match="other users may use"):
        check_private(str(tmp_path / "a" / "mcpclient"), create=True)
    assert not list(tmp_path.iterdir())


def test_a_session_is_asked(environ: dict[str, str]) -> None:
    """F-SHOW-12: its state; None without an answer, and then its sockets are removed."""
    place = Place.of("it", environ)
    assert ask(place, "mcpclient/state") is None
    listener, _ = listen(place)
    thread, asked = answering(listener, b'{"id": 0, "result": {"name": "it"}}\n')
    assert ask(place, "mcpclient/close") == {"name": "it"}
    thread.join()
    assert asked[0]["method"] == "mcpclient/close"
    assert ask(place, "mcpclient/state") is None
    assert session_names(environ) == []


@pytest.mark.parametrize("answer", [b"", b"no JSON\n", b'{"error": 1}\n'])
def test_a_strange_answer_of_a_session(environ: dict[str, str], answer: bytes) -> None:
    """F-SHOW-12: an end without an answer is the session's; anything else is an error."""
    place = Place.of("it", environ)
    listener, _ = listen(place)
    thread, _ = answering(listener, answer)
    if answer:
        with pytest.raises(UsageError, match="@it does not answer"):
            ask(place, "mcpclient/state")
    else:
        assert ask(place, "mcpclient/state") is None
    thread.join()


def test_on_windows_a_session_is_a_port_and_a_token(environ: dict[str, str]) -> None:
    """F-SHOW-12: in a private file; tried here as far as another system can."""
    place = Place.of("it", environ, "win32")
    check_private(environ["LOCALAPPDATA"])
    listener, token = listen(place)
    assert place.is_loopback
    assert listener.getsockname()[0] == "127.0.0.1"
    assert place.port() == (listener.getsockname()[1], token)
    assert os.stat(place.link).st_mode & 0o077 == 0
    assert len(token) == 64
    with pytest.raises(UsageError, match="open already"):
        listen(place)
    connection, _ = listener.accept()  # the look of the second one
    connection.close()
    thread, asked = answering(listener, b'{"id": 0, "result": {}}\n')
    assert ask(place, "mcpclient/state") == {}
    thread.join()
    assert asked[0]["params"]["token"] == token
    assert session_names(environ, "win32") == ["it"]
    clean(place)
    assert session_names(environ, "win32") == []


def test_another_user_is_no_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-12: as the kernel says who has connected."""
    ours, theirs = socket.socketpair()
    with ours, theirs, socket.socket() as tcp:
        assert is_own_peer(ours)
        assert is_own_peer(tcp)  # It shows a token.
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        assert not is_own_peer(ours)


def test_the_peer_of_the_bsds(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-12: LOCAL_PEERCRED, whose structure has the user's id in the same place."""

    class Connection:
        def getsockopt(self, level: int, option: int, size: int) -> bytes:
            assert (level, option, size) == (0, 1, 76)
            return (0).to_bytes(4, sys.byteorder) + (501).to_bytes(4, sys.byteorder) + bytes(68)

    monkeypatch.delattr(_socket, "SO_PEERCRED", raising=False)
    connection: Any = Connection()
    assert front.peer_user(connection) == 501


OPENS = """
import os, sys
from mcpclient.sessions.sockets import detach
print("@it", os.environ["ROLE"], os.getsid(0) == os.getpid(), flush=True)
detach(os.open(os.devnull, os.O_WRONLY))
sys.stdin.buffer.raw.read()
"""


def test_a_process_in_the_background(capfd: pytest.CaptureFixture[str]) -> None:
    """F-SHOW-12: it has told that it is open, or it has ended."""
    words = [sys.executable, "-c", OPENS]
    assert asyncio.run(start_in_background(words, {"ROLE": "1"})) == (0, "@it 1 True\n")
    os.wait()  # a session is not waited for; that its parent ends is all the same to it
    failing = [sys.executable, "-c", "print('no'); raise SystemExit(3)"]
    assert asyncio.run(start_in_background(failing, {"ROLE": "1"})) == (3, "no\n")


async def test_a_process_in_the_background_is_cancelled() -> None:
    """F-SHOW-12: as by Ctrl-C, which does not reach it by itself."""
    source = "import sys, time; sys.stderr.close(); time.sleep(600)"
    starting = asyncio.ensure_future(
        start_in_background([sys.executable, "-c", source], {"ROLE": "1"})
    )
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting


def test_letting_go_of_the_streams(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """F-SHOW-12: stdin and stdout lead nowhere, stderr to the log."""
    replaced: dict[int, int] = {}
    written: list[bytes] = []
    monkeypatch.setattr(os, "dup2", lambda old, new: replaced.update({new: old}))
    monkeypatch.setattr(os, "write", lambda number, data: written.append(data))
    detach(77)
    assert replaced.keys() == {0, 1, 2}
    assert replaced[2] == 77
    assert written == [b"\0"]
