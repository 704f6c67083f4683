"""Sandboxes: writable folders, rights, and the files a command needs to start."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient.errors import UsageError
from mcpclient.sandbox.files import program_files, system_files
from mcpclient.sandbox.rights import NAMED_SANDBOXES, Sandbox
from tests.support.tables import each_row


def test_the_default_grants_nothing() -> None:
    """F-BOX-1"""
    sandbox = Sandbox()
    assert sandbox == Sandbox()
    assert not sandbox.network
    assert repr(sandbox) == "Sandbox()"
    assert sandbox == Sandbox.of(True) == Sandbox.of({})
    assert len({sandbox, Sandbox(), Sandbox(["/x"])}) == 2


@each_row(
    ("given", "told"),
    [
        ({"read": "/usr"}, "read of a sandbox must be a list of paths, not '/usr'"),
        ({"write": [3]}, "write of a sandbox must hold paths, not 3"),
        ({"write": [""]}, "write of a sandbox must hold paths, not ''"),
        ({"network": "no"}, "network of a sandbox must be true or false, not 'no'"),
        ({"memory": "much"}, "memory of a sandbox must be like 1000000 or \"512M\", not 'much'"),
        ({"memory": 0}, "memory of a sandbox must be a positive number, not 0"),
        ({"processes": 1.5}, "processes of a sandbox must be a positive number, not 1.5"),
        ({"seconds": True}, "seconds of a sandbox must be a positive number, not True"),
        ({"seconds": float("inf")}, "seconds of a sandbox must be a positive number, not inf"),
        ({"best_effort": True}, "a sandbox has no field 'best_effort'"),
        ({"domains": []}, "a sandbox has no field 'domains'"),
        ({"use": "git"}, "use of a sandbox must be a list of names"),
        ({"use": ["gti"]}, "there is no sandbox named 'gti'"),
        ("yes", "a sandbox must be an object or true, not 'yes'"),
        (1, "a sandbox must be an object or true, not 1"),
    ],
)
def test_a_sandbox_that_makes_no_sense_is_refused(given: Any, told: str) -> None:
    """F-BOX-1"""
    with pytest.raises(UsageError) as caught:
        Sandbox.of(given)
    assert str(caught.value) == told


def test_sizes_and_files_are_read_as_they_are_written() -> None:
    """F-BOX-1"""
    sandbox = Sandbox.of({"memory": "2G", "use": ["git"], "write": ["/data"], "processes": 8})
    assert sandbox.memory == 2 << 30
    assert sandbox.write == (".", "/data")
    assert sandbox.read == ("~/.gitconfig", "~/.config/git")
    assert Sandbox.of(sandbox) is sandbox
    assert Sandbox(memory="512MiB").memory == 512 << 20
    assert Sandbox(read=[Path("/x")]).read == ("/x",)


def test_sandboxes_add_up() -> None:
    """F-BOX-1: the limits that are given hold, the larger of two."""
    both = Sandbox(["/a"], memory=10) | Sandbox(["/a", "/b"], ["/c"], True, memory=20, seconds=3)
    assert both == Sandbox(["/a", "/b"], ["/c"], True, memory=20, seconds=3)


def test_a_command_says_what_it_is_likely_to_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-BOX-1"""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".npm").mkdir()
    (tmp_path / "repository").mkdir()
    npx = Sandbox.for_command(["/usr/bin/npx", "-y", "@modelcontextprotocol/server-everything"])
    assert npx == Sandbox(write=["~/.npm"], network=True)
    assert Sandbox.for_command(["python3", "server.py"]) == Sandbox()
    assert Sandbox.for_command(["python3", "-m", "mcp-server-fetch"]).network
    git = Sandbox.for_command(["mcp-server-git", "--repository", "~/repository"])
    repository = str(tmp_path / "repository")
    assert git == Sandbox(write=[repository])  # without the current folder, which it need not see
    files = Sandbox.for_command(["mcp-server-filesystem", repository])
    assert files == Sandbox(write=[repository])
    assert Sandbox.for_command(["mcp-server-filesystem"]) == NAMED_SANDBOXES["filesystem"]
    assert Sandbox.for_command([]) == Sandbox()
    sqlite = ["mcp-server-sqlite", "--db-path=~/repository/notes.db"]
    assert Sandbox.for_command(sqlite) == Sandbox(write=[repository])
    memory = {"MEMORY_FILE_PATH": f"{repository}/memory.jsonl", "HOME": os.environ["HOME"]}
    assert Sandbox.for_command(["mcp-server-memory"], memory) == Sandbox(write=[repository])
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text("")
    assert Sandbox.for_command(["kubernetes-mcp-server"]) == Sandbox(["~/.kube"], network=True)
    given = Sandbox.for_command(["k9", "--kubeconfig", "~/.kube/config"])
    assert given == Sandbox([str(tmp_path / ".kube" / "config")])
    assert Sandbox.for_command(["eslint-mcp"]) == Sandbox(["."])
    assert Sandbox.for_command(["github-mcp-server"], {"GITHUB_TOKEN": "x"}).network
    assert Sandbox.for_command(["proxy", "https://example.com/mcp"]).network


@pytest.mark.needs_posix
def test_a_command_reads_its_interpreter_and_its_own_folder(tmp_path: Path) -> None:
    """F-BOX-1: and never the home folder, whatever stands in it."""
    home = tmp_path / "home"
    project = home / "project"
    (project / "node_modules" / "tool" / "dist").mkdir(parents=True)
    (home / ".local" / "bin").mkdir(parents=True)
    tool = project / "node_modules" / "tool" / "dist" / "index.js"
    for script in (tool, project / "server.py", home / "loose.py", home / "id_rsa"):
        script.write_text("")
    shim = home / ".local" / "bin" / "server"
    shim.write_text("#!/usr/bin/env python3\n")
    env = {"HOME": str(home), "SSL_CERT_FILE": str(home / "id_rsa"), "PATH": os.environ["PATH"]}

    def files(*command: str, program: str = sys.executable) -> list[str]:
        found = program_files(command, env, str(project), program)
        assert str(home) not in found
        assert str(home / ".local") not in found
        return found

    assert str(project) in files("python3", "server.py")
    assert str(project / "node_modules") in files("node", str(tool))
    assert str(home / "loose.py") in files("python3", str(home / "loose.py"))
    assert str(home / "id_rsa") in files("python3")  # since the environment names it
    del env["SSL_CERT_FILE"]
    assert str(home / "id_rsa") not in files("python3", str(home / "id_rsa"))
    assert str(project / "server.py") in files("python3", "-m", "server")
    through = files("server", program=str(shim))
    assert str(home / ".local" / "bin") in through
    assert any(path.endswith("/lib") for path in through)  # the interpreter's


@pytest.mark.needs_posix
def test_a_virtual_environment_brings_the_python_it_was_made_with(tmp_path: Path) -> None:
    """F-BOX-1"""
    base = tmp_path / "base"
    for part in ("bin", "lib"):
        (base / part).mkdir(parents=True)
        (tmp_path / "venv" / part).mkdir(parents=True)
    (base / "bin" / "python").write_text("")
    (tmp_path / "venv" / "bin" / "python").symlink_to(base / "bin" / "python")
    (tmp_path / "venv" / "pyvenv.cfg").write_text(f"home = {base / 'bin'}\nversion = 3\n")
    found = program_files(["python"], {}, "/", str(tmp_path / "venv" / "bin" / "python"))
    assert {str(base / "lib"), str(tmp_path / "venv" / "lib")} <= set(found)
    shims = tmp_path / "versions" / "shims"
    shims.mkdir(parents=True)
    (shims / "python").write_text("")
    assert str(shims.parent) in program_files(["python"], {}, "/", str(shims / "python"))


@pytest.mark.needs_posix
def test_no_key_or_password_of_the_system_is_granted() -> None:
    """F-BOX-1"""
    granted = set(system_files())
    for secret in ("/", "/etc", "/etc/shadow", "/etc/ssl", "/etc/ssl/private", "/root", "/home"):
        assert secret not in granted
    assert "/usr" in granted


def test_a_script_above_the_home_folder_grants_itself_alone(tmp_path: Path) -> None:
    """F-BOX-1: with ``/server.py`` and the home ``/root``, the folder would be ``/``."""
    (tmp_path / "home").mkdir()
    script = tmp_path / "server.py"
    script.touch()
    env = {"HOME": str(tmp_path / "home"), "PATH": os.defpath}
    found = program_files(["python3", str(script)], env, "/", sys.executable)
    assert str(script) in found
    assert not {str(tmp_path), *map(str, tmp_path.parents)} & set(found)
