"""Bundles that the official packer made, in Node, Python and as programs: F-MANY-18."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from conformance import peers
from conformance.peers.install import node_and_npm
from tests.entries.bundles.making import SERVER, manifest, option

NODE = """
const send = (id, result) => console.log(JSON.stringify({jsonrpc: '2.0', id, result}));
require('readline').createInterface({input: process.stdin}).on('line', line => {
  const {id, method} = JSON.parse(line);
  const info = {name: 'bundled', version: '1'};
  const [argv, env, cwd] = [process.argv.slice(2), process.env, process.cwd()];
  const told = {argv, env, cwd, file: __filename};
  if (method === 'initialize')
    send(id, {protocolVersion: '2025-06-18', capabilities: {tools: {}}, serverInfo: info});
  else if (method === 'tools/list')
    send(id, {tools: [{name: 'show', inputSchema: {type: 'object'}}]});
  else if (method === 'tools/call')
    send(id, {content: [{type: 'text', text: JSON.stringify(told)}]});
  else if (id !== undefined)
    console.log(JSON.stringify({jsonrpc: '2.0', id, error: {code: -32601, message: 'none'}}));
});
"""
PROGRAM = f"#!{sys.executable}\n{SERVER}"
PACKER = peers.node_module("@anthropic-ai/mcpb/dist/cli/cli.js", "node-packer")

pytestmark = [
    pytest.mark.needs_posix,
    pytest.mark.skipif(
        not peers.is_installed("node-packer"),
        reason="needs node and mcpb (python -m conformance.peers install node-packer)",
    ),
    pytest.mark.slow,
]


def node(*args: str, **more: Any) -> dict[str, Any]:
    process = {"command": "node", "args": ["${__dirname}/server/index.js", *args], **more}
    return {"type": "node", "entry_point": "server/index.js", "mcp_config": process}


def python(*args: str, **more: Any) -> dict[str, Any]:
    process = {"command": sys.executable, "args": ["${__dirname}/server/main.py", *args], **more}
    return {"type": "python", "entry_point": "server/main.py", "mcp_config": process}


def binary(**process: Any) -> dict[str, Any]:
    return {"type": "binary", "entry_point": "server/run", "mcp_config": process}


VALUES = {
    "folders": option("directory", multiple=True, required=True, default=["${HOME}/a"]),
    "most": option("number", default=10, min=1, max=100),
    "readonly": option("boolean", default=True),
    "key": option("string", sensitive=True),
}
OF_NODE, OF_PYTHON = {"server/index.js": NODE}, {"server/main.py": SERVER}
RUN = {"server/run": PROGRAM, "server/c.json": "{}"}

# By name: the manifest, the files, the values, and the command of the server.
BUNDLES: dict[
    str, tuple[dict[str, Any], dict[str, str], dict[str, Any], list[str], dict[str, str]]
] = {
    "node-of-0.1": (manifest(manifest_version="0.1", server=node()), OF_NODE, {}, [], {}),
    "python-of-0.2": (
        manifest(
            manifest_version="0.2",
            privacy_policies=["https://maker.example/privacy"],
            server=python(env={"PYTHONPATH": "${__dirname}/server/lib"}),
        ),
        {**OF_PYTHON, "server/lib/more.py": ""},
        {},
        [],
        {"PYTHONPATH": "DIR/server/lib"},
    ),
    "binary-of-0.3": (
        manifest(server=binary(command="server/run", args=["--config", "server/c.json"])),
        RUN,
        {},
        ["--config", "DIR/server/c.json"],
        {},
    ),
    "overrides-of-0.4": (
        manifest(
            manifest_version="0.4",
            server=node(
                "all",
                env={"A": "1"},
                platform_overrides={sys.platform: {"env": {"B": "${/}"}}, "plan9": {"args": []}},
            ),
        ),
        OF_NODE,
        {},
        ["all"],
        {"B": os.sep},
    ),
    "values": (
        manifest(
            server=node(
                "${user_config.folders}",
                "${user_config.most}",
                env={"RO": "${user_config.readonly}"},
            ),
            user_config=VALUES,
        ),
        OF_NODE,
        {"folders": ["/x", "/y z"], "most": 12},
        ["/x", "/y z", "12"],
        {"RO": "true"},
    ),
    "a-secret": (
        manifest(server=python(env={"KEY": "${user_config.key}"}), user_config=VALUES),
        OF_PYTHON,
        {"key": "s3cret"},
        [],
        {"KEY": "s3cret"},
    ),
    "other-languages": (
        manifest(name="größe", server=node("${__dirname}/dä ta/文.txt")),
        {**OF_NODE, "dä ta/文.txt": "x"},
        {},
        ["DIR/dä ta/文.txt"],
        {},
    ),
    "many-files": (
        manifest(server=node()),
        {
            **OF_NODE,
            **{f"node_modules/p{n}/lib/{m}.js": "x" * m for n in range(30) for m in range(30)},
        },
        {},
        [],
        {},
    ),
}


def pack(folder: Path, described: dict[str, Any], files: dict[str, str]) -> str:
    """Return the path of the bundle that the packer makes of these files."""
    for name, text in {"manifest.json": json.dumps(described), **files}.items():
        path = folder / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        path.chmod(0o755 if text.startswith("#!") else 0o644)
    bundle = folder / "packed.mcpb"
    run_packer("pack", str(folder / "source"), str(bundle))
    return str(bundle)


def run_packer(*words: str) -> None:
    done = subprocess.run(["node", str(PACKER), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    node_folder = os.path.dirname(node_and_npm()[0])
    monkeypatch.setenv("PATH", os.pathsep.join((os.environ["PATH"], node_folder)))
    return tmp_path


async def started(path: str, config: dict[str, Any]) -> dict[str, Any]:
    async with mcpclient.connect({"bundle": path, "config": config}) as client:
        found: dict[str, Any] = json.loads((await client.call_tool("show")).text)
        return found


@pytest.mark.parametrize("name", BUNDLES)
async def test_a_bundle_of_the_packer(name: str, home: Path) -> None:
    """F-MANY-18: starts as its manifest says."""
    described, files, config, args, env = BUNDLES[name]
    found = await started(pack(home, described, files), config)

    def put(text: str) -> str:
        return text.replace("DIR", found["cwd"])

    assert found["argv"] == [put(word) for word in args]
    assert {key: found["env"].get(key) for key in env} == {k: put(text) for k, text in env.items()}
    assert "KEY" in env or "KEY" not in found["env"]


def test_a_signed_bundle(home: Path) -> None:
    """F-MANY-18: the signature stands behind the archive."""
    path = pack(home, manifest(server=node()), OF_NODE)
    before = os.path.getsize(path)
    certificate = ["--cert", str(home / "c.pem"), "--key", str(home / "k.pem")]
    run_packer("sign", path, "--self-signed", *certificate)
    assert os.path.getsize(path) > before
    assert asyncio.run(started(path, {}))["argv"] == []
