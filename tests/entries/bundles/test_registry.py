"""Files of a registry as entries: F-MANY-18. They have the shapes of makers' files, and no text."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.entries.applications import APPLICATIONS
from mcpclient.entries.bundles.registry import FoundEntry, find_entry
from mcpclient.entries.entry import EntryError, read_entry
from mcpclient.framing.escaping import escape_line
from tests.entries.bundles.test_manifest import JSON, changed
from tests.support.tables import each_row

STDIO = {"type": "stdio"}


def package(kind: str, identifier: str, **more: Any) -> dict[str, Any]:
    return {"registryType": kind, "identifier": identifier, "transport": STDIO, **more}


def server(*packages: Any, remotes: Any = (), **more: Any) -> dict[str, Any]:
    schema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    return {
        "$schema": schema,
        "name": "io.github.maker/a-server",
        "description": "of a maker",
        "version": "1.0.0",
        "packages": list(packages),
        "remotes": list(remotes),
        **more,
    }


def asked(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, **more, "required": True}


KEY = {"name": "API_KEY", "description": "The key", "isRequired": True, "isSecret": True}
ASKED = asked("API_KEY", description="The key", password=True)

# By the feature of the file: the file, the values that are given, and the entry.
MAKERS: dict[str, tuple[dict[str, Any], dict[str, str], dict[str, Any]]] = {
    "a package of npm with a secret": (
        server(package("npm", "@maker/a-server", version="1.2.3", environmentVariables=[KEY])),
        {},
        {
            "command": "npx",
            "args": ["-y", "@maker/a-server@1.2.3"],
            "env": {"API_KEY": "${input:API_KEY}"},
            "inputs": [ASKED],
        },
    ),
    "a package of PyPI with flags and defaults": (
        server(
            package(
                "pypi",
                "a-server",
                version="0.5.0",
                runtimeHint="uvx",
                registryBaseUrl="https://pypi.org",
                packageArguments=[
                    {"type": "named", "name": "--mode", "default": "local", "choices": ["local"]},
                    {"type": "named", "name": "--read-only", "format": "boolean", "default": True},
                    {"type": "named", "name": "--write", "format": "boolean", "value": "false"},
                    {"type": "named", "name": "--allowed", "valueHint": "path", "isRepeated": True},
                    {"type": "positional", "format": "boolean", "value": "true"},
                    {"type": "positional", "format": "boolean", "value": "false"},
                    {"type": "positional", "value": "serve"},
                ],
                environmentVariables=[{"name": "UNITS", "default": "metric"}, {"name": "LOG"}],
            )
        ),
        {},
        {
            "command": "uvx",
            "args": ["a-server@0.5.0", "--mode", "local", "--read-only", "true", "false", "serve"],
            "env": {"UNITS": "metric"},
        },
    ),
    "an image with its options": (
        server(
            package(
                "oci",
                "ghcr.io/maker/a-server:2.1.0",
                runtimeHint="docker",
                runtimeArguments=[
                    {"type": "positional", "value": "run"},
                    {"type": "named", "name": "-i", "description": "interactive"},
                    {
                        "type": "named",
                        "name": "--mount",
                        "value": "type=bind,src={source},dst={target}",
                        "isRequired": True,
                        "variables": {
                            "source": {"description": "A folder", "format": "filepath"},
                            "target": {"default": "/project"},
                        },
                    },
                ],
                packageArguments=[{"type": "positional", "valueHint": "dir", "value": "/project"}],
                environmentVariables=[KEY],
            )
        ),
        {"source": "/home/me"},
        {
            "command": "docker",
            "args": [
                *("run", "-i", "--rm", "-e", "API_KEY", "-i"),
                *("--mount", "type=bind,src=/home/me,dst=/project"),
                *("ghcr.io/maker/a-server:2.1.0", "/project"),
            ],
            "env": {"API_KEY": "${input:API_KEY}"},
            "inputs": [ASKED],
        },
    ),
    "an image that is named among the options": (
        server(
            package(
                "oci",
                "ghcr.io/maker/a-server",
                version="1.0",
                runtimeArguments=[
                    {"type": "positional", "value": each}
                    for each in ("run", "-e", "TOKEN", "ghcr.io/maker/a-server")
                ],
                environmentVariables=[
                    {"name": "TOKEN", "value": "{token}", "variables": {"token": {}}}
                ],
            )
        ),
        {"token": "${GITHUB_TOKEN}"},
        {
            "command": "docker",
            "args": ["run", "-i", "--rm", "-e", "TOKEN", "ghcr.io/maker/a-server"],
            "env": {"TOKEN": "${GITHUB_TOKEN}"},
        },
    ),
    "a package of NuGet": (
        server(
            package(
                "nuget",
                "Maker.Server",
                version="0.1.0-beta",
                registryBaseUrl="https://api.nuget.org",
                packageArguments=[{"type": "positional", "value": "mcp"}],
            )
        ),
        {},
        {"command": "dnx", "args": ["Maker.Server@0.1.0-beta", "--yes", "--", "mcp"]},
    ),
    "a remote server with a token": (
        server(
            remotes=[
                {
                    "type": "streamable-http",
                    "url": "https://mcp.maker.example/{key}",
                    "headers": [
                        {
                            "name": "Authorization",
                            "value": "Bearer {maker_token}",
                            "isSecret": True,
                        },
                        {"name": "X-Region", "default": "eu-west-1"},
                        {"name": "X-Team", "description": "optional"},
                    ],
                }
            ]
        ),
        {},
        {
            "type": "http",
            "url": "https://mcp.maker.example/${input:key}",
            "headers": {"Authorization": "Bearer ${input:maker_token}", "X-Region": "eu-west-1"},
            "inputs": [asked("key", password=True), asked("maker_token", password=True)],
        },
    ),
    "a URL for each tenant": (
        server(
            remotes=[
                {
                    "type": "sse",
                    "url": "https://{tenant}.maker.example/{path}",
                    "variables": {
                        "tenant": {"description": "Your tenant", "choices": ["eu", "us"]},
                        "path": {"default": "sse"},
                    },
                }
            ]
        ),
        {},
        {
            "type": "sse",
            "url": "https://${input:tenant}.maker.example/sse",
            "inputs": [asked("tenant", description="Your tenant", options=["eu", "us"])],
        },
    ),
    "the schema of July 2025": (
        {
            "name": "a-server",
            "description": "of a maker",
            "version_detail": {"version": "1.0.2"},
            "packages": [
                {
                    "registry_name": "docker",
                    "name": "maker/a-server",
                    "version": "1.0.2",
                    "runtime_hint": "podman",
                    "package_arguments": [
                        {"type": "positional", "value_hint": "folder", "is_required": True}
                    ],
                    "environment_variables": [{"name": "LOG_LEVEL", "default": "info"}],
                }
            ],
            "remotes": [{"transport_type": "sse", "url": "https://maker.example/sse"}],
        },
        {"folder": "/srv"},
        {
            "command": "podman",
            "args": ["run", "-i", "--rm", "-e", "LOG_LEVEL", "maker/a-server:1.0.2", "/srv"],
            "env": {"LOG_LEVEL": "info"},
        },
    ),
    "as a registry answers": (
        {"server": server(package("npm", "a-server", version="latest")), "_meta": {"x": {}}},
        {},
        {"command": "npx", "args": ["-y", "a-server@latest"]},
    ),
    "text that looks like a variable": (
        server(
            package(
                "npm",
                "a-server",
                runtimeHint="bash",
                packageArguments=[{"type": "positional", "value": "${AWS_SECRET}"}],
                environmentVariables=[{"name": "A", "default": "{file:~/.ssh/id_rsa}"}],
            )
        ),
        {},
        {
            "command": "npx",
            "args": ["-y", "a-server", "${dollar}${brace}AWS_SECRET}"],
            "env": {"A": "${brace}file:~/.ssh/id_rsa}"},
        },
    ),
}


def sorted_inputs(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "inputs": sorted(entry.get("inputs", []), key=lambda item: str(item["id"]))}


@each_row("maker", MAKERS)
def test_the_file_of_a_maker(maker: str) -> None:
    """F-MANY-18: packages, remote servers, variables, in all schemas."""
    document, values, entry = MAKERS[maker]
    kind = "oci" if "July" in maker else None
    found = find_entry(document, "/", values, kind)
    assert sorted_inputs(found.entry) == sorted_inputs(entry)
    assert found.name == "a-server"
    warnings: list[str] = []
    read_entry(
        "s",
        found.entry,
        APPLICATIONS["mcpclient"],
        lambda told, *path, **more: warnings.append(told),
    )
    assert not warnings


def test_what_is_left_out_is_told() -> None:
    """F-MANY-18: optional values without a default, which the user may give."""
    document, _, _ = MAKERS["a package of PyPI with flags and defaults"]
    assert find_entry(document, "/", {}).left_out == ["LOG", "allowed"]
    given = find_entry(document, "/", {"LOG": "debug", "allowed": "/srv"})
    assert given.left_out == []
    assert given.entry["env"] == {"UNITS": "metric", "LOG": "debug"}
    assert given.entry["args"][4:] == ["--allowed", "/srv", "true", "false", "serve"]


def test_a_bundle_beside_the_file(tmp_path: Path) -> None:
    """F-MANY-18: nothing is fetched, and its digest comes from the file."""
    url = "https://maker.example/releases/a.mcpb"
    document = server(package("mcpb", url, fileSha256="AB12"))
    with pytest.raises(EntryError, match="the bundle is not here") as caught:
        find_entry(document, str(tmp_path), {})
    assert url in caught.value.hint
    (tmp_path / "a.mcpb").touch()
    entry = find_entry(document, str(tmp_path), {}).entry
    assert entry == {"bundle": str(tmp_path / "a.mcpb"), "sha256": "ab12"}


NOT_NAMES = {
    "npm": "-e https://h/x.tgz git+ssh://h/x user/x file:../x a@npm:evil@1 ./x @a/../x a@https://h/x",
    "pypi": "-e git+https://h/x a@https://h/x ./x.whl ../x --index-url=x",
    "nuget": "-e https://h/x ../x",
    "oci": "--privileged a;b https://h/x",
}
NOT_VERSIONS = ("npm:evil@1", "https://h/x.tgz", "file:x", "user/x", "-1", "1 x", "1\n")


@each_row("kind", NOT_NAMES)
def test_a_package_is_named_and_has_a_version_and_nothing_else(kind: str) -> None:
    """F-MANY-18: npm takes a version, and a name, for another package or an address."""
    for name in ("", "a b", *NOT_NAMES[kind].split()):
        with pytest.raises(EntryError, match="must be the name of a package"):
            find_entry(server(package(kind, name)), "/", {})
    for version in NOT_VERSIONS:
        with pytest.raises(EntryError, match="must be a version"):
            find_entry(server(package(kind, "a", version=version)), "/", {})


@each_row(
    ("document", "message", "path"),
    [
        ([], "must be an object, not a list", ()),
        ({}, "is missing", ("name",)),
        (server(), "there are: none that is started over stdio", ("packages",)),
        (server(3), "must be an object, not a number", ("packages", 0)),
        (server(package("npm", "x", version=1)), "must be a string", ("packages", 0, "version")),
        (server(package("cargo", "x")), "cargo of '' is not known", ("packages", "registryType")),
        (server(package("remote", "x")), "remote of '' is not known", ("packages", "registryType")),
        (
            server(package("npm", "x", registryBaseUrl="https://npm.maker.example")),
            "npm of 'npm.maker.example' is not known",
            ("packages", "registryType"),
        ),
        (server(package("a\x1b[2J", "b")), r"^a\\x1b\[2J of", ("packages", "registryType")),
        (server(package("npm", "")), "must be the name of a package", ("packages", "identifier")),
        (
            server(remotes=[{"type": "sse", "url": "https://x", "headers": [{"value": "x"}]}]),
            "is missing",
            ("remotes", 0, "headers", 0, "name"),
        ),
    ],
)
def test_a_mistake_names_its_place(document: Any, message: str, path: Any) -> None:
    """F-MANY-18"""
    with pytest.raises(EntryError, match=message) as caught:
        find_entry(document, "/", {})
    assert caught.value.path == path


@pytest.mark.slow
@pytest.mark.parametrize("leaf", ["", "x" * 100])
def test_variables_that_stand_for_many_others_each(leaf: str) -> None:
    """F-MANY-18: a small file does not become a long value."""
    item: dict[str, Any] = {"value": leaf}
    for _ in range(30):
        item = {"value": "{a}" * 10, "variables": {"a": item}}
    argument = {"type": "positional", **item}
    with pytest.raises(EntryError, match="its variables have too many values"):
        find_entry(server(package("npm", "a", packageArguments=[argument])), "/", {})


@given(st.sampled_from(sorted(MAKERS)), st.lists(st.integers(0, 9), max_size=8), JSON)
def test_a_file_of_any_shape_is_an_entry_or_an_error(
    maker: str, path: list[int], value: Any
) -> None:
    """F-MANY-18: never a traceback."""
    try:
        found: FoundEntry = find_entry(changed(MAKERS[maker][0], path, value), "/", {})
        json.dumps(found.entry)
    except EntryError as error:
        assert escape_line(str(error)) == str(error)
        return
    with suppress(EntryError):
        read_entry("s", found.entry, APPLICATIONS["mcpclient"], lambda *told, **more: None)
