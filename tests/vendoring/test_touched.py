"""Resources that a part touches, seen by an audit hook, and its rights by the guide. F-VEND-3."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import mcpclient
from mcpclient.vendoring.parts import PARTS

pytestmark = pytest.mark.slow

ROOT = Path(mcpclient.__file__).parents[1]
GUIDE = ROOT / "mcpclient" / "cli" / "guide" / "vendoring.md"

PRELUDE = """
import asyncio, os, sys
sys.path.insert(0, ROOT)
touched, is_watched = set(), False
# Modules, and what the interpreter looks at by itself.
OWN = tuple({sys.base_prefix, sys.prefix, os.path.join(ROOT, "mcpclient"), "/proc", "/dev"})
KINDS = {
    "socket.connect": "connects", "socket.getaddrinfo": "connects", "socket.bind": "listens",
    "subprocess.Popen": "starts", "os.posix_spawn": "starts", "os.fork": "starts",
    "os.system": "starts", "os.exec": "starts", "ctypes.dlopen": "ctypes",
    "os.remove": "writes", "os.rename": "writes", "os.mkdir": "writes", "os.chmod": "writes",
    "os.rmdir": "writes", "os.scandir": "reads",
}
def hook(event, arguments):
    if not is_watched:
        return
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, int) or path is None or os.fsdecode(path).startswith(OWN):
            return
        is_written = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        touched.add("writes" if is_written else "reads")
    elif event in KINDS:
        kind = KINDS[event]
        if kind == "starts" or not str(arguments[0]).startswith(OWN):
            touched.add(kind)
sys.addaudithook(hook)
DEMO = [sys.executable, os.path.join(ROOT, "mcpclient", "testing", "demo_server.py")]
ENTRY = {"mcpServers": {"demo": {"command": DEMO[0], "args": DEMO[1:]}}}
ADD = {"a": 1, "b": 2}
import mcpclient
def watch():
    global is_watched
    is_watched = True
def over_stdio(use, **options):
    async def main():
        watch()
        async with mcpclient.connect(DEMO, **options) as client:
            await use(client)
    asyncio.run(main())
def over_pipes(serve):
    async def main():
        reads, writes = os.pipe(), os.pipe()
        os.write(reads[1], b'{"jsonrpc":"2.0","id":1,"method":"ping"}\\n')
        watch()
        serving = asyncio.ensure_future(
            serve(os.fdopen(reads[0], "rb", 0), os.fdopen(writes[1], "wb", 0))
        )
        has_answered = asyncio.Event()
        asyncio.get_running_loop().add_reader(writes[0], has_answered.set)
        await has_answered.wait()
        os.close(reads[1])
        await serving
    asyncio.run(main())
def over_http(use, protected=False, path="/mcp", **options):
    from tests.support.http_server import HttpServer
    from tests.support.mcp_http import StreamableEndpoint
    from tests.support.mcp_server import McpServer
    from tests.support.protected import Protected
    async def main():
        routes = StreamableEndpoint(McpServer("stateless")).routes
        async with HttpServer(Protected(routes).routes if protected else routes) as server:
            watch()
            async with mcpclient.connect(str(server.url(path)), **options) as client:
                await use(client)
    asyncio.run(main())
async def call(client):
    await client.call_tool("add", ADD)
async def echo(client):
    await client.call_tool("echo", {"text": "x"})
"""

# A program for each part that uses its feature.
SCENARIOS = {
    "caching": "over_stdio(call)",
    "reconnect": "over_stdio(call, reconnect=mcpclient.Reconnect())",
    "entries": """
with open("its.env", "w") as file:
    file.write("A=1")
DEMO = {**ENTRY["mcpServers"]["demo"], "envFile": os.path.abspath("its.env")}
over_stdio(call)
""",
    "stdio": "over_stdio(call)",
    "http": "over_http(echo)",
    "websocket": """
from tests.net.websocket_peer import websocket_server
async def main():
    async def refuse(peer):
        peer.writer.close()
    async with websocket_server(refuse) as url:
        watch()
        try:
            async with mcpclient.connect(str(url), timeout=2):
                pass
        except mcpclient.McpError:
            pass
asyncio.run(main())
""",
    "auth": """
async def browse(url):
    import urllib.request
    await asyncio.get_running_loop().run_in_executor(None, urllib.request.urlopen, url)
    return True
store = mcpclient.FileStore("logins.json")
provider = mcpclient.BrowserLogin(store, open_browser=browse)
auth = mcpclient.OAuth(provider=provider, local_development=True)
over_http(echo, protected=True, auth=auth)
""",
    "negotiate": """
from mcpclient.net.kerberos import context_maker
watch()
try:
    context_maker()
except mcpclient.UsageError:
    pass
""",
    "answers": """
async def agree(request):
    return {}
over_stdio(call, elicitation=agree)
""",
    "hooks": """
async def around(call, proceed):
    return await proceed(call)
over_stdio(call, around=[around])
""",
    "audit": 'over_stdio(call, audit="calls.jsonl")',
    "limits": "over_stdio(call, limits=mcpclient.ServerLimits(at_once=1))",
    "types": """
async def use(client):
    assert (await client.call_tool("add", ADD, returns=dict)) is not None
over_stdio(use)
""",
    "schema": 'over_stdio(call, validate="strict")',
    "subscriptions": """
async def use(client):
    try:
        async with client.listen(tools=True):
            pass
    except mcpclient.PeerError:  # what it asks is all that counts here
        pass
over_stdio(use)
""",
    "tasks": """
async def use(client):
    try:
        await client.call_tool_task("add", ADD)
    except mcpclient.McpError:
        pass
over_stdio(use)
""",
    "skills": """
async def use(client):
    try:
        await client.list_skills()
    except mcpclient.McpError:
        pass
over_stdio(use)
""",
    "applications": """
async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 404, "headers": []})
    await send({"type": "http.response.body", "body": b""})
async def main():
    watch()
    try:
        await mcpclient.connect(app)
    except mcpclient.McpError:
        pass
asyncio.run(main())
""",
    "sandbox": "over_stdio(call, sandbox=mcpclient.Sandbox(best_effort=True))",
    "sync": """
watch()
from mcpclient import sync
with sync.connect(DEMO) as client:
    client.call_tool("add", ADD)
""",
    "config": """
import json
with open(".mcp.json", "w") as file:
    json.dump(ENTRY, file)
watch()
config = mcpclient.load_config(".mcp.json")
assert "demo" in config.servers
""",
    "bundles": """
from tests.entries.bundles.making import write_bundle
path = write_bundle(__import__("pathlib").Path("x.mcpb").absolute())
async def main():
    watch()
    async with mcpclient.connect(path):
        pass
asyncio.run(main())
""",
    "manager": """
async def main():
    watch()
    servers = ENTRY["mcpServers"]
    async with mcpclient.connect_all(servers, memory="memory.json") as manager:
        await manager.call_tool("demo__add", ADD)
asyncio.run(main())
""",
    "models": """
async def use(client):
    box = await client.toolbox("anthropic")
    block = {"type": "tool_use", "id": "1", "name": "add", "input": ADD}
    await box.run({"role": "assistant", "content": [block]})
over_stdio(use)
""",
    "recording": 'over_stdio(call, trace="trace.jsonl")',
    "stubs": """
watch()
from mcpclient.stubs import Offer, stubs_for
stubs_for(Offer("demo", []))
""",
    "code": """
mode = mcpclient.CodeMode(mcpclient.Sandbox(best_effort=True))
async def use(client):
    box = await client.toolbox("anthropic", code=mode)
    code = {"code": "tools.add(a=1, b=2)"}
    block = {"type": "tool_use", "id": "1", "name": "run_python", "input": code}
    (message,) = await box.run({"role": "assistant", "content": [block]})
    assert "sum" in str(message)
over_stdio(use)
""",
    "bridge": """
from mcpclient.bridging.bridge import Bridge
from mcpclient.client.connection.limits import RequestOptions
over_pipes(lambda *streams: Bridge(None, str, str, RequestOptions()).serve(*streams))
""",
    "gateway": """
over_pipes(lambda *streams: mcpclient.bridge(mcpclient.Manager({}), *streams))
""",
    "telemetry": """
from mcpclient.telemetry import opentelemetry
over_stdio(call, around=[opentelemetry()])
""",
    "testing": """
from mcpclient.testing import Cassette
async def main():
    watch()
    async with Cassette("calls.jsonl", "once").connect(DEMO) as client:
        await call(client)
asyncio.run(main())
""",
    "inspector": """
async def main():
    from mcpclient.inspector.inspector import inspect
    async with mcpclient.connect(DEMO) as client:
        watch()
        async with inspect(client):
            pass
asyncio.run(main())
""",
    "cli": """
watch()
from mcpclient.cli.main import main
try:
    main(["call", "add", "a=1", "b=2", "--", *DEMO])
except SystemExit:
    pass
""",
    "vendor": """
watch()
from mcpclient.vendoring.copying import chosen_parts, copy_package
from pathlib import Path
copy_package(Path("copy"), chosen_parts(["stdio"]))
""",
}


def touched(part: str, folder: Path) -> set[str]:
    program = f"ROOT = {str(ROOT)!r}\n{PRELUDE}\n{SCENARIOS[part]}\nis_watched = False\n"
    program += "print(sorted(touched))\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin", "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: set[str] = set(re.findall(r"'(\w+)'", done.stdout.splitlines()[-1]))
    return found


def told(part: str) -> set[str]:
    """Return the words in bold in the guide's text on the resources of a part."""
    row = re.search(rf"(?m)^\| `{part}` \|.*\| ([^|]+) \|$", GUIDE.read_text("utf-8"))
    assert row is not None
    return set(re.findall(r"\*\*(\w+)\*\*", row.group(1)))


@pytest.mark.skipif(sys.platform == "win32", reason="other events tell of the same there")
@pytest.mark.parametrize("part", PARTS)
def test_a_part_touches_what_the_guide_says(part: str, tmp_path: Path) -> None:
    """F-VEND-3: no more, and no less, beyond the process of a server over stdio."""
    seen = touched(part, tmp_path) - {"starts"}
    assert seen <= told(part) if part == "cli" else seen == told(part) - {"starts"}


def test_a_server_over_stdio_is_a_process(tmp_path: Path) -> None:
    """F-VEND-3: and nothing else is touched."""
    assert touched("stdio", tmp_path) == told("stdio") == {"starts"}
