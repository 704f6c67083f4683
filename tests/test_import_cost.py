"""F-PACK-3: importing stays light. Modules are counted, since counts do not depend on speed."""

from __future__ import annotations

import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import mcpclient
from mcpclient.cli.commands import COMMANDS, MODULES
from tests.support.subprocesses import run_python

# Heavy parts of the standard library: each loads when its feature is used, never before.
HEAVY = {
    "argparse",
    "ctypes",
    "email",
    "http.client",
    "http.server",
    "importlib.metadata",
    "multiprocessing",
    "sqlite3",
    "unittest",
    "urllib.request",
    "webbrowser",
    "xml",
    "zipfile",
}

IS_WINDOWS = sys.platform == "win32"

if IS_WINDOWS:
    HEAVY.remove("ctypes")  # job objects need it

# Parts of the library that a plain client of one server does without.
UNUSED_BY_A_CLIENT = {
    "adapters",
    "auth",
    "cli",
    "client.answers.answerers",
    "client.events.around",
    "client.feed",
    "client.connection.client_options",
    "client.connection.url_routes",
    "client.tasks",
    "hints",
    "formats",
    "manager",
    "net.http",
    "net.files",
    "net.process.server_process",
    "net.proxies",
    "transports.stdio",
    "transports.websocket",
    "protocol.skills",
    "sync",
}

# Parts of the standard library that take longer to import than most of ours.
UNUSED_BY_A_CLIENT_OF_A_COMMAND = {
    "calendar",
    "dataclasses",
    "datetime",
    "difflib",
    "hashlib",
    "ipaddress",
    "pathlib",
    "random",
    "urllib.parse",
}


def own(*names: str) -> set[str]:
    """Return the full names of modules of the package."""
    return {f"{mcpclient.__name__}.{name}" for name in names}


def modules_after(statement: str, before: str = "pass") -> set[str]:
    """Return the modules that ``statement`` loads in an interpreter which has run ``before``."""
    printed = run_python(
        f"""
        import json, sys
        {before}
        known = set(sys.modules)
        {statement}
        print(json.dumps(sorted(set(sys.modules) - known)))
        """
    )
    return set(json.loads(printed))


def test_the_parts_that_are_left_out_exist() -> None:
    """Else they would be left out for ever, whatever they are called now."""
    assert all(find_spec(name) is not None for name in {*own(*UNUSED_BY_A_CLIENT), *HEAVY})


def test_the_root_costs_almost_nothing() -> None:
    """F-PACK-3: `import mcpclient` loads a table of names."""
    loaded = modules_after("import mcpclient")
    assert len(loaded) < 15, sorted(loaded)
    assert not loaded & {*HEAVY, "asyncio", "ssl", "socket", "subprocess"}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell")
def test_the_root_takes_little_memory() -> None:
    """F-PACK-3: under 25 MiB with the interpreter, at any moment."""
    status = run_python(
        """
        import mcpclient
        with open("/proc/self/status") as file:
            print(file.read())
        """
    )
    (peak,) = re.findall(r"(?m)^VmHWM:\s+(\d+) kB$", status)
    assert int(peak) < 25 * 1024


def test_connect_loads_no_heavy_module() -> None:
    """F-PACK-3: what a client of one server does not need is not there."""
    loaded = modules_after("import mcpclient; mcpclient.connect")
    assert not loaded & HEAVY
    assert not loaded & own(*UNUSED_BY_A_CLIENT)
    of_asyncio = modules_after("import asyncio")  # on Windows it makes temporary files, too
    assert not (loaded - of_asyncio) & UNUSED_BY_A_CLIENT_OF_A_COMMAND


def test_connect_costs_little_beyond_asyncio() -> None:
    """F-PACK-3: asyncio itself is the floor; a client adds a bounded number of modules to it."""
    loaded = modules_after("mcpclient.connect", before="import asyncio; import mcpclient")
    added = {name for name in loaded if name.startswith(mcpclient.__name__)}
    assert len(added) < 97 + IS_WINDOWS, sorted(added)  # there, job objects are a module more
    assert len(loaded - added) < 12, sorted(loaded - added)


def test_a_client_over_http_loads_no_other_transport() -> None:
    """F-PACK-3: neither WebSockets nor what preceded Streamable HTTP, before they are met."""
    loaded = modules_after("mcpclient.connect('http://127.0.0.1/mcp')", before="import mcpclient")
    others = own("transports.websocket", "transports.legacy_sse", "transports.line_socket")
    assert own("transports.streamable_http") <= loaded
    assert not loaded & {*others, "calendar"}


@pytest.mark.slow
def test_a_manager_of_servers_made_in_code_loads_nothing_that_reads_files() -> None:
    """F-PACK-3: nor the rules of a policy, where neither the program nor the enterprise has any."""
    server = [sys.executable, "mcpclient/testing/demo_server.py"]
    loaded = modules_after(
        f"""
        async def connect():
            async with mcpclient.connect_all({{"demo": {server!r}}}):
                pass
        asyncio.run(connect())
        """,
        before="import asyncio; import mcpclient",
    )
    assert own("manager.manager", "gate.gate") <= loaded
    files = own("config.policy", "config.reading", "config.sheet", "entries.entry")
    assert not loaded & {*files, *own("formats", "recording.secrets"), "difflib", "tomllib"}


def command_line(*words: str) -> set[str]:
    """Return the modules that the command line loads for these words, without its output."""
    statement = f"sys.argv = {['mcpclient', *words]!r}; from mcpclient.__main__ import main"
    quiet = "shown, sys.stdout = sys.stdout, io.StringIO(); main(); sys.stdout = shown"
    return modules_after(f"{statement}; {quiet}", "import io; import mcpclient")


def test_the_version_and_the_overview_cost_a_handful_of_modules() -> None:
    """F-SHOW-1, F-PACK-3: nothing is parsed, and no command is imported."""
    loaded = command_line("--version")
    assert len(loaded) < 9, sorted(loaded)
    assert not loaded & {"contextlib", "typing"}
    for words in (["--help"], []):  # laid out for the terminal
        loaded = command_line(*words)
        assert len(loaded) < 15, sorted(loaded)
        assert not loaded & {"argparse", "asyncio", "contextlib", "typing", *own("errors")}


@pytest.mark.slow
def test_a_command_loads_its_module_and_no_other() -> None:
    """F-SHOW-1, F-PACK-3: a local server needs no network, no login, no configuration."""
    server = "mcpclient/testing/demo_server.py"
    loaded = command_line("ping", server)
    modules = {MODULES.get(name, name) for name in COMMANDS}
    assert {name for name in modules if own(f"cli.{name}") <= loaded} == {MODULES["ping"]}
    assert not loaded & own(
        "auth",
        "cli.asking",
        "cli.configured",
        "cli.doctor",
        "cli.render",
        "client.connection.url_routes",
        "config",
        "entries",
        "framing.uri",
        "hints",
        "inspector",
        "manager",
        "net.http",
        "protocol.schema",
    )
    of_asyncio = modules_after("import asyncio")
    assert not (loaded - of_asyncio) & {"dataclasses", "difflib", "shutil", "webbrowser"}


@pytest.mark.slow
def test_a_list_of_tools_loads_what_it_shows() -> None:
    """F-SHOW-1, F-PACK-3: nothing is redacted, or cut for a model, or remembered once more."""
    for _ in range(2):
        loaded = command_line("tools", "mcpclient/testing/demo_server.py")
    assert not loaded & own("adapters.limits", "recording.redaction", "recording.secrets")
    assert not loaded & {"ntpath", "pathlib", "urllib.parse", *own("net.files")}
