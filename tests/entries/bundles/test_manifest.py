"""Manifests of bundles as entries: F-MANY-18."""

from __future__ import annotations

import json
import os
import string
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient import load_config
from mcpclient.entries.bundles.archive import Archive, Bundle
from mcpclient.entries.bundles.manifest import OpenedEntry, _Manifest, open_entry
from mcpclient.entries.entry import EntryError
from mcpclient.entries.variables import Inputs, Variables, folders_of
from mcpclient.framing.escaping import escape_line
from tests.entries.bundles.making import (
    Entry,
    manifest,
    option,
    packed,
    python_server,
    write_bundle,
)

FOLDER = "/state/bundles/0"


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., OpenedEntry]:
    """Open a bundle with this manifest; ``written``: fields of its entry."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def opened(described: Any = None, *more: Entry, **written: Any) -> OpenedEntry:
        path = write_bundle(tmp_path / "x.mcpb", described, *more)
        return open_entry({"bundle": path, **written}, path, "")

    return opened


def expanded(entry: OpenedEntry, text: str) -> str:
    """Return a string of an entry as its server gets it, where every file says SECRET."""
    environ = {"AWS_SECRET": "SECRET", "HOME": "SECRET"}
    folders = folders_of("", "", "")
    known = Variables(environ, Inputs(entry.inputs, None), folders, lambda path: "SECRET")
    return known.expand(text).text


def folder_of(entry: OpenedEntry) -> str:
    assert entry.bundle is not None
    return entry.bundle.folder


WRONG: list[tuple[Any, str]] = [
    (b"\xff{}", "it is not UTF-8"),
    (b'{"name": ', "it is not JSON: "),
    (b"[]", "must be an object, not a list"),
    (manifest(manifest_version="1.0"), "manifest_version: version '1.0' is not known"),
    (manifest(manifest_version=None), "manifest_version: version 'none' is not known"),
    (manifest(name=3), "name: must be a string, not a number"),
    (manifest(name="two\nlines"), "name: must be a name in one line"),
    (manifest(compatibility={"platforms": ["plan9"]}), "compatibility.platforms: the bundle does"),
    (manifest(compatibility=[]), "compatibility: must be an object, not a list"),
    (manifest(server=None), "server: is missing"),
    (manifest(server="x"), "server: must be an object, not a string"),
    (
        manifest(server={"type": "php"}),
        "server.type: must be one of binary, node, python, uv, not 'php'",
    ),
    (manifest(server={"type": "node"}), "server.mcp_config.command: is missing"),
    (
        manifest(server={"type": "node", "mcp_config": {"command": ["node"]}}),
        "server.mcp_config.command: must be a string, not a list",
    ),
    (manifest(server=python_server(args="x")), "server.mcp_config.args: must be a list, not"),
    (manifest(server=python_server(args=["a", 1])), "server.mcp_config.args.1: must be a string"),
    (manifest(server=python_server(env=["A=1"])), "server.mcp_config.env: must be an object, not"),
    (manifest(server=python_server(env={"A": 1})), "server.mcp_config.env.A: must be a string"),
    (
        manifest(server=python_server(platform_overrides={sys.platform: {"args": [None, 1]}})),
        f"server.mcp_config.platform_overrides.{sys.platform}.args.0: must be a string, not null",
    ),
    (manifest(server={"type": "uv"}), "server.mcp_config.command: is missing"),
    (manifest(server=python_server("${user_config.x}")), "${user_config.x} is not among its"),
    (manifest(user_config=[]), "user_config: must be an object, not a list"),
    (manifest(user_config={"x": 1}), "user_config.x: must be an object, not a number"),
    (manifest(user_config={"x": {}}), "user_config.x.type: is missing"),
    (manifest(user_config={"x": option("date")}), "user_config.x.type: must be one of boolean"),
    (manifest(user_config={"x": option("string", sensitive=1)}), "user_config.x.sensitive: must"),
    (manifest(user_config={"x": option("number", default="a")}), "user_config.x.default: must be"),
    (
        manifest(user_config={"x": option("number", default=5, max=3)}),
        "user_config.x.default: must be a number within its bounds",
    ),
    (manifest(user_config={"x": option("boolean", default=3)}), "must be a boolean, not a number"),
    (manifest(user_config={"x": option("file", default={})}), "must be a file, not an object"),
]


@pytest.mark.parametrize(("described", "message"), WRONG)
def test_a_mistake_names_its_field(described: Any, message: str, opened: Any) -> None:
    """F-MANY-18"""
    with pytest.raises(EntryError) as caught:
        opened(described)
    assert message in str(caught.value)
    assert str(caught.value).startswith("manifest.json: ")


@pytest.mark.parametrize(
    "text",
    [
        *("${AWS_SECRET}", "${env:AWS_SECRET}", "{env:AWS_SECRET}", "${file:/etc/passwd}"),
        *("{file:~/.ssh/id_rsa}", "${{ secrets.AWS_SECRET }}", "${AWS_SECRET:-x}", "$AWS_SECRET"),
        *("${file:${HOME}/.ssh/id_rsa}", "{file:${HOME}/.ssh/id_rsa}"),
        *("${file:${user_config.name}}", "${env:${user_config.name}}", "$${AWS_SECRET}"),
    ],
)
def test_a_bundle_learns_nothing_by_a_variable(text: str, opened: Any) -> None:
    """F-MANY-18: other text stays text, also where parts of it would make a variable together."""
    options = {"name": option("string", default="AWS_SECRET")}
    server = python_server(text, env={"A": text})
    for config in ({}, {"config": {"name": "AWS_SECRET"}}):
        entry = opened(manifest(server=server, user_config=options), **config)
        for written in (entry.raw["args"][1], entry.raw["env"]["A"]):
            assert "SECRET" not in expanded(entry, written).replace("AWS_SECRET", "")


def test_windows_has_another_ending(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    server = {"type": "binary", "entry_point": "x", "mcp_config": {"command": "bin\\run"}}
    entry = opened(manifest(server=server), Entry("bin/run.exe", b"MZ"))
    assert entry.raw["command"].endswith("bin/run.exe")


def test_overrides_of_the_platform(opened: Any) -> None:
    """F-MANY-18: each of the three fields as a whole."""
    change = {"args": [], "env": {"B": "2"}}
    overrides = {sys.platform: change, "plan9": {"command": "rc"}}
    entry = opened(manifest(server=python_server(env={"A": "1"}, platform_overrides=overrides)))
    assert (entry.raw["args"], entry.raw["env"]) == ([], {"B": "2"})
    change["command"] = "other"
    assert opened(manifest(server=python_server(platform_overrides=overrides))).raw["command"] == (
        "other"
    )


def test_a_server_for_uv_needs_no_command(opened: Any) -> None:
    """F-MANY-18: as version 0.4 has it."""
    entry = opened(manifest(manifest_version="0.4", server={"type": "uv", "entry_point": "s.py"}))
    assert [entry.raw["command"], *entry.raw["args"]] == [
        *("uv", "run", "--directory", folder_of(entry), "s.py")
    ]
    assert entry.bundle is not None
    assert entry.bundle.writable


OPTIONS = {
    "key": option("string", sensitive=True, required=True),
    "most": option("number", default=10, min=1, max=100),
    "readonly": option("boolean", default=True),
    "folders": option("directory", multiple=True, default=["${HOME}/a", "${DOCUMENTS}"]),
    "optional": option("string"),
}
USING = python_server(
    "${user_config.folders}",
    "--most=${user_config.most}",
    env={
        "KEY": "${user_config.key}",
        "ALL": "${user_config.folders}",
        "O": "${user_config.optional}",
    },
)


def test_answers_are_kept_for_one_entry_of_one_file(tmp_path: Path, opened: Any) -> None:
    """F-MANY-18: nothing else can read a secret that was given to a bundle."""
    path = write_bundle(tmp_path / "y.mcpb", manifest(server=USING, user_config=OPTIONS))

    def kept(source: str = "a.json", name: str = "s", **more: Any) -> str:
        return open_entry({"bundle": path, **more}, source, "", name).inputs[0].kept

    names = [kept(), kept("b.json"), kept(name="t"), kept(env={"NODE_OPTIONS": "-r evil"})]
    write_bundle(tmp_path / "y.mcpb", manifest(server=USING, user_config=OPTIONS, version="2"))
    assert len({*names, kept()}) == 5


def test_what_the_user_writes_counts(opened: Any) -> None:
    """F-MANY-18: several values are several words; a variable of the user's is one."""
    config = {"folders": ["/a b", "/c"], "most": 12.0, "readonly": False, "key": "${KEY}"}
    entry = opened(manifest(server=USING, user_config=OPTIONS), config=config)
    assert entry.raw["args"][1:] == ["/a b", "/c", "--most=12"]
    assert entry.raw["env"] == {
        "KEY": "${KEY}",
        "ALL": os.pathsep.join(["/a b", "/c"]),
        "O": "${input:optional}",
    }
    assert "config" not in entry.raw
    entry = opened(
        manifest(server=USING, user_config=OPTIONS), config={"folders": f"/x{os.pathsep}/y"}
    )
    assert entry.raw["args"][1:3] == ["/x", "/y"]


@pytest.mark.parametrize(
    ("config", "message", "path"),
    [
        ([], "must be an object, not a list", ("config",)),
        ({"kee": "x"}, "did you mean 'key'?", ("config", "kee")),
        ({"most": 1000}, "a number within its bounds", ("config", "most")),
        ({"most": "many"}, "a number within its bounds", ("config", "most")),
        ({"most": True}, "must be a number, not true or false", ("config", "most")),
        ({"most": "9" * 5000}, "a number within its bounds", ("config", "most")),
        ({"readonly": "perhaps"}, "must be a boolean, not a string", ("config", "readonly")),
        ({"key": None}, "must be a string, not null", ("config", "key")),
    ],
)
def test_a_value_that_does_not_fit(config: Any, message: str, path: Any, opened: Any) -> None:
    """F-MANY-18"""
    with pytest.raises(EntryError, match=message) as caught:
        opened(manifest(server=USING, user_config=OPTIONS), config=config)
    assert caught.value.path == path


def test_the_fields_beside_a_bundle(opened: Any) -> None:
    """F-MANY-18: the ones of any entry, and no other command."""
    server = python_server(env={"A": "1", "B": "1"})
    entry = opened(manifest(server=server), env={"B": "2"}, timeout=5, cwd="/srv", sandbox=True)
    assert entry.raw["env"] == {"A": "1", "B": "2"}
    assert (entry.raw["timeout"], entry.raw["cwd"], entry.raw["sandbox"]) == (5, "/srv", True)
    for field in ("command", "args", "url"):
        with pytest.raises(EntryError, match="cannot be combined with a bundle"):
            opened(None, **{field: "x"})
    with pytest.raises(EntryError, match="must be a string, not a number"):
        open_entry({"bundle": 3}, "", "")


def test_a_bundle_that_was_replaced_has_changed(opened: Any) -> None:
    """F-MANY-18: an entry holds the digest of the bundle that the user looked at."""
    digest = opened().raw["sha256"]
    assert opened(None, sha256=digest).raw["sha256"] == digest
    with pytest.raises(EntryError, match="has changed: its SHA-256 is") as caught:
        opened(manifest(version="2.0.0"), sha256=digest)
    assert caught.value.path == ("sha256",)
    assert "mcpclient add --replace" in caught.value.hint


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def changed(described: Any, path: list[Any], value: Any) -> Any:
    """Return a manifest with another value somewhere in it."""
    if not path:
        return value
    if isinstance(described, dict) and described:
        key = sorted(described)[path[0] % len(described)]
        return {**described, key: changed(described[key], path[1:], value)}
    if isinstance(described, list) and described:
        index = path[0] % len(described)
        return [
            *described[:index],
            changed(described[index], path[1:], value),
            *described[index + 1 :],
        ]
    return value


@given(st.lists(st.integers(0, 9), max_size=5), JSON)
def test_a_manifest_of_any_shape_is_an_entry_or_an_error(path: list[int], value: Any) -> None:
    """F-MANY-18: with the name of the file, and never a traceback."""
    described = changed(manifest(server=USING, user_config=OPTIONS), path, value)
    try:
        archive = Archive(packed(described))
        entry = _Manifest(archive, Bundle("/x.mcpb", archive.sha256)).entry({})
    except EntryError as error:
        assert str(error).startswith("manifest.json: ")
        assert escape_line(str(error)) == str(error)
    else:
        json.dumps(entry.raw)
        assert all(isinstance(word, str) for word in entry.raw["args"])


@given(st.lists(st.text(string.printable + "\0\u202e\xad:\\/..AÀÁàß", max_size=12), max_size=4))
def test_names_of_any_kind_stay_inside(names: list[str]) -> None:
    """F-MANY-18: an archive is refused, or each of its names is a file below its folder."""
    try:
        archive = Archive(packed(manifest(), *(Entry(name.encode()) for name in names)))
    except EntryError as error:
        assert escape_line(str(error)) == str(error)
        return
    for name in archive.names:
        path = os.path.normpath(os.path.join(FOLDER, name))
        assert path == f"{FOLDER}/{name}".replace("/", os.sep)
        assert name.isprintable()


def test_the_server_of_a_bundle_in_a_file(tmp_path: Path, opened: Any) -> None:
    """F-MANY-18: an ordinary server, whose problems stand at their place in the file."""
    write_bundle(tmp_path / "b.mcpb", manifest(server=USING, user_config=OPTIONS))
    file = tmp_path / "mcp.json"
    entries = {"a": {"bundle": "b.mcpb"}, "b": {"bundle": "./b.mcpb", "config": {"key": "k"}}}
    file.write_text(json.dumps({"mcpServers": entries, "inputs": [{"id": "most"}]}, indent=1))
    config = load_config(file)
    assert [str(each) for each in config.problems] == [
        f"{file}:3: error: a.config.key: it needs a value (it is asked for on a terminal, when the "
        "server is named)"
    ]
    server = config.servers["b"]
    assert server.options["env"]["KEY"] == "k"
    assert server.options["env"]["ALL"].count(os.pathsep) == 1
    assert "O" not in server.options["env"]
    assert isinstance(server.target, list)
    assert len(server.target) == 5
    given = load_config(file, inputs={"key": "given", "folders": "/1\n/2\n/3"}).servers["a"]
    assert given.options["env"]["KEY"] == "given"
    assert isinstance(given.target, list)
    assert given.target[2:5] == ["/1", "/2", "/3"]
    assert replace(given, raw={}).fingerprint() != given.fingerprint()
