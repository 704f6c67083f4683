"""Credentials in a keychain, with stand-ins for the systems' tools."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from mcpclient.errors import AuthError, UsageError
from mcpclient.net.login import storage
from mcpclient.net.login.storage import KeychainStore
from tests.support.subprocesses import run_python

pytestmark = pytest.mark.needs_posix

# Both note their arguments, so that a test can see whether a secret was among them.
COMMON = """#!{python} -IS
import json, os, sys
folder = {folder!r}
with open(os.path.join(folder, "arguments"), "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
items_path = os.path.join(folder, "items")
items = json.load(open(items_path)) if os.path.exists(items_path) else {{}}
def keep():
    with open(items_path, "w") as file:
        json.dump(items, file)
if os.path.exists(os.path.join(folder, "refuses")):
    print("the collection is locked", file=sys.stderr)
    sys.exit(1)
"""

SECRET_TOOL = """
action, *words = sys.argv[1:]
name = words[-1]
assert words[-4:-1] == ["service", "mcpclient", "key"], words
if action == "store":
    items[name] = sys.stdin.read()
    keep()
elif action == "lookup":
    if name not in items:
        sys.exit(1)
    print(items[name], end="")
elif action == "clear":
    if items.pop(name, None) is None:
        sys.exit(1)
    keep()
"""

SECURITY = """
import shlex
def perform(words):
    options = dict(zip(words[1::2], words[2::2]))
    if words[0] == "find-generic-password":
        if options["-a"] not in items:
            sys.exit(44)
        print(items[options["-a"]])
    elif words[0] == "delete-generic-password":
        items.pop(options["-a"], None)
        keep()
    elif words[0] == "add-generic-password":
        del words[1]
        options = dict(zip(words[1::2], words[2::2]))
        items[options["-a"]] = options["-w"]
        keep()
if sys.argv[1] == "-i":
    for line in sys.stdin:
        assert len(line) < 4096
        perform(shlex.split(line))
else:
    perform(sys.argv[1:])
"""


@pytest.fixture(params=["linux", pytest.param("darwin", marks=pytest.mark.slow)])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system with a keychain whose tool keeps everything in this folder."""
    programs = {"linux": ("secret-tool", SECRET_TOOL), "darwin": ("security", SECURITY)}
    name, body = programs[request.param]
    tool = tmp_path / "bin" / name
    tool.parent.mkdir()
    tool.write_text(COMMON.format(python=sys.executable, folder=str(tmp_path)) + body)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent))
    monkeypatch.setattr(storage, "_MACOS_TOOL", str(tool))
    monkeypatch.setenv("MCPCLIENT_CREDENTIALS", str(tmp_path / "credentials.json"))
    monkeypatch.setattr(sys, "platform", request.param)
    return tmp_path


RECORD = {"token": "SECRET", "name": 'a "quoted" \\ nämé'}
KEY = 'grant OAuth https://mcp.example/"mcp" \\'


async def test_a_record_is_kept_and_removed(folder: Path) -> None:
    """F-AUTH-9: in the keychain, and in no argument."""
    store = KeychainStore()
    assert await store.load(KEY) is None
    await store.save(KEY, RECORD)
    await store.save("other", {})
    assert await KeychainStore().load(KEY) == RECORD
    await store.save(KEY, {"a": 1})
    assert await store.load(KEY) == {"a": 1}
    await store.save(KEY, None)
    await store.save(KEY, None)
    assert await store.load(KEY) is None
    assert await store.load("other") == {}
    assert "SECRET" not in (folder / "arguments").read_text()


@pytest.mark.slow
async def test_a_long_record(folder: Path) -> None:
    """F-AUTH-9: longer than a line may be that is piped to `security`; nothing is left of it."""
    record = {"token": "x" * 5_000}
    store = KeychainStore()
    await store.save(KEY, record)
    assert await store.load(KEY) == record
    await store.save(KEY, {"short": True})
    assert await store.load(KEY) == {"short": True}
    await store.save(KEY, None)
    assert json.loads((folder / "items").read_text()) == {}


async def test_a_keychain_that_refuses(folder: Path) -> None:
    """F-AUTH-9, F-AUTH-12: says why, and not what."""
    store = KeychainStore()
    await store.save(KEY, RECORD)
    (folder / "refuses").write_text("")
    for attempt in (store.load(KEY), store.save(KEY, RECORD)):
        with pytest.raises(
            AuthError, match="the keychain refused: the collection is locked"
        ) as caught:
            await attempt
        assert "SECRET" not in str(caught.value)


async def test_a_damaged_item_is_none(folder: Path) -> None:
    """F-AUTH-9"""
    store = KeychainStore()
    await store.save(KEY, RECORD)
    items = json.loads((folder / "items").read_text())
    damaged = {
        name: value if "." in value[-9:] and len(value) < 12 else "%"
        for name, value in items.items()
    }
    (folder / "items").write_text(json.dumps(damaged))
    assert await store.load(KEY) is None
    (folder / "items").write_text(json.dumps({KEY: "abcd.5"}))
    assert await store.load(KEY) is None


async def test_removing_is_refused_too(folder: Path) -> None:
    """F-AUTH-9"""
    store = KeychainStore()
    (folder / "refuses").write_text("")
    with pytest.raises(AuthError, match="refused"):
        await store.save(KEY, None)


async def test_a_tool_that_does_not_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-9"""
    store = KeychainStore()
    for tool in (folder / "bin").iterdir():
        tool.unlink()
    with pytest.raises(AuthError, match="did not answer"):
        await store.load(KEY)


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_a_system_without_a_keychain(
    platform: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """F-AUTH-9: is reported at once."""
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    monkeypatch.setattr(storage, "_MACOS_TOOL", str(tmp_path / "security"))
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(UsageError, match="no keychain that can be used"):
        KeychainStore()


async def test_a_write_that_does_not_arrive(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-9: on macOS only reading it back tells; elsewhere the exit code does."""
    (tool,) = (folder / "bin").iterdir()
    text = tool.read_text().replace("    keep()", "    sys.exit(3)")
    tool.write_text(text)
    with pytest.raises(AuthError, match="refused: exit code 3"):
        await KeychainStore().save(KEY, RECORD)


class Security:
    """The input of `security`, and its answers."""

    def __init__(self, *answers: tuple[int, str]) -> None:
        self.answers = list(answers)
        self.given: list[tuple[list[str], str]] = []

    async def run(
        self, words: list[str], given: bytes, *_: object
    ) -> subprocess.CompletedProcess[bytes]:
        assert words[0] == "/usr/bin/security"
        self.given.append((words[1:], given.decode()))
        code, printed = self.answers.pop(0)
        return subprocess.CompletedProcess(words, code, printed.encode(), b"")


async def test_what_the_tool_of_macos_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-9: by its full name, the words of its manual page, and secrets through its input."""
    piece = "a b.0"
    find = ["find-generic-password", "-s", "mcpclient", "-a"]
    written = "eyJuIjogMX0="  # of {"n": 1}
    security = Security((44, ""), (0, ""), (0, f"{written}\n"), (0, ""), (0, "b.1\n"))
    monkeypatch.setattr("mcpclient.net.process.programs.run_program", security.run)
    monkeypatch.setattr("secrets.token_hex", lambda size: "b")
    monkeypatch.setattr("shutil.which", lambda name: name)
    monkeypatch.setattr(sys, "platform", "darwin")
    macos = KeychainStore()
    await macos.save("a", {"n": 1})
    add = "add-generic-password -U -s mcpclient"
    assert security.given == [
        ([*find, "a", "-w"], ""),
        (["-i"], f'{add} -a "{piece}" -w "{written}"\n'),
        ([*find, piece, "-w"], ""),
        (["-i"], f'{add} -a "a" -w "b.1"\n'),
        ([*find, "a", "-w"], ""),
    ]
    security.given.clear()
    security.answers = [(0, "b.1\n"), (0, ""), (0, "")]
    await macos.save("a", None)
    delete = ["delete-generic-password", "-s", "mcpclient", "-a"]
    assert [words for words, _ in security.given] == [
        [*find, "a", "-w"],
        [*delete, piece],
        [*delete, "a"],
    ]


@pytest.mark.parametrize("said", [rb"\xff\xfe", b'{"a": ' * 5_000, b"[" * 100_000, b"[]", b"\0"])
async def test_a_tool_that_prints_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    """F-AUTH-9: what is not a record is as good as none."""
    tool = tmp_path / "secret-tool"
    tool.write_text(f"#!{sys.executable} -IS\nimport sys\nsys.stdout.buffer.write({said!r})\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert await KeychainStore().load(KEY) is None


@pytest.mark.slow
async def test_a_tool_that_hangs_does_not_keep_the_program(tmp_path: Path) -> None:
    """F-AUTH-9: it waits for a user who is not there; it is killed with the call."""
    tool = tmp_path / "secret-tool"
    tool.write_text(
        f"#!{sys.executable} -IS\nimport os, time\n"
        f"os.chdir({str(tmp_path)!r})\n"
        "with open('new', 'w') as file: file.write(str(os.getpid()))\n"
        "os.rename('new', 'pid')\ntime.sleep(1000)\n"  # the file is there when it is whole
    )
    tool.chmod(0o755)
    printed = run_python(
        f"""
        import asyncio, os, sys
        sys.platform = "linux"
        os.environ["PATH"] = {str(tmp_path)!r}
        from mcpclient.net.login.storage import KeychainStore

        async def main():
            loading = asyncio.ensure_future(KeychainStore().load("key"))
            while not os.path.exists({str(tmp_path / "pid")!r}):
                await asyncio.sleep(0.01)

        asyncio.run(main())  # which cancels it
        print("over")
        """
    )
    assert printed.strip() == "over"
    pid = int((tmp_path / "pid").read_text())
    with suppress(ProcessLookupError):
        while True:  # until the system has collected it
            os.kill(pid, 0)
