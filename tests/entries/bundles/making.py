"""Bundles as the official packer makes them, and others: it writes whatever a test asks for."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVER = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": asked.get("id")}
    if asked.get("method") == "initialize":
        info = {"name": "bundled", "version": "1"}
        answer["result"] = {
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info
        }
    elif asked.get("method") == "tools/list":
        answer["result"] = {"tools": [{"name": "show", "inputSchema": {"type": "object"}}]}
    elif asked.get("method") == "tools/call":
        told = {"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "file": __file__}
        answer["result"] = {"content": [{"type": "text", "text": json.dumps(told)}]}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    if "id" in asked:
        print(json.dumps(answer), flush=True)
"""

FILE, FOLDER, LINK, DEVICE = 0o100644, 0o040755, 0o120777, 0o020666
PROGRAM = 0o100755


@dataclass
class Entry:
    """One entry of an archive; None: as it is right."""

    name: str | bytes = "x"
    data: bytes = b""
    mode: int = FILE
    flags: int = 0
    method: int = 8
    size: int | None = None
    packed_size: int | None = None
    offset: int | None = None
    local_name: bytes | None = None
    local_method: int | None = None
    crc: int | None = None


def zipped(
    entries: Sequence[Entry],
    *,
    prefix: bytes = b"",
    suffix: bytes = b"",
    comment: bytes = b"",
    before_directory: bytes = b"",
    before_end: bytes = b"",
    count: int | None = None,
    directory_size: int | None = None,
    disk: int = 0,
) -> bytes:
    """Return the archive of these entries, each field as given."""
    body, directory = prefix, b""
    for entry in entries:
        name = entry.name.encode() if isinstance(entry.name, str) else entry.name
        flags = entry.flags | (0 if name.isascii() else 0x800)
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = entry.data if entry.method != 8 else deflate.compress(entry.data) + deflate.flush()
        crc = zlib.crc32(entry.data) if entry.crc is None else entry.crc
        size = len(entry.data) if entry.size is None else entry.size
        packed_size = len(packed) if entry.packed_size is None else entry.packed_size
        offset = len(body) if entry.offset is None else entry.offset
        local_name = name if entry.local_name is None else entry.local_name
        local_method = entry.method if entry.local_method is None else entry.local_method
        sizes = (crc, packed_size, size)
        body += struct.pack(
            "<4s5H3L2H", b"PK\3\4", 20, flags, local_method, 0, 33, *sizes, len(local_name), 0
        )
        body += local_name + packed
        directory += struct.pack(
            "<4s6H3L5H2L",
            *(b"PK\1\2", 0x314, 20, flags, entry.method, 0, 33, *sizes, len(name), 0, 0, 0, 0),
            *(entry.mode << 16, offset),
        )
        directory += name
    body += before_directory
    start, number = len(body), len(entries) if count is None else count
    size = len(directory) if directory_size is None else directory_size
    end = struct.pack("<4s4H2LH", b"PK\5\6", disk, disk, number, number, size, start, len(comment))
    return body + directory + before_end + end + comment + suffix


def manifest(**changes: Any) -> dict[str, Any]:
    """Return a manifest, as the documentation of its format has it, with changes."""
    return {
        "manifest_version": "0.3",
        "name": "bundled",
        "version": "1.0.0",
        "description": "Tells how it was started",
        "author": {"name": "A Maker"},
        "server": python_server(),
        **changes,
    }


def python_server(*args: str, kind: str = "python", **config: Any) -> dict[str, Any]:
    """Return the ``server`` of a manifest, with more arguments."""
    words = ["${__dirname}/server/main.py", *args]
    process = {"command": "python3", "args": words, **config}
    return {"type": kind, "entry_point": "server/main.py", "mcp_config": process}


def option(kind: str, **more: Any) -> dict[str, Any]:
    """Return one option of ``user_config``."""
    return {"type": kind, "title": "A title", "description": "a description", **more}


def packed(described: Any, *more: Entry) -> bytes:
    """Return the content of a bundle with a manifest, a server in Python, and other files."""
    text = described if isinstance(described, bytes) else json.dumps(described).encode()
    server = Entry("server/main.py", SERVER.encode())
    return zipped([Entry("manifest.json", text), server, *more])


def write_bundle(path: Path, described: Any = None, *more: Entry) -> str:
    """Write a bundle, and return its path."""
    path.write_bytes(packed(manifest() if described is None else described, *more))
    return str(path)
