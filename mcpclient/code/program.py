"""A stand-alone program that runs a model's Python, and passes its calls of tools to the host.

It is run by its source, ``python -I -S -c …``, and imports nothing of this package. JSON-RPC
messages go over its standard streams, one per line; the model's code gets other streams:

- ``run`` with the ``code`` comes from the host, and the response says whether it ``failed``;
- ``output`` with a ``text`` goes to the host, and ``call`` with the ``path`` and the ``arguments``
  of a tool, whose response has a ``value`` or an ``error``;
- ``call`` without arguments asks about a path: the ``value`` of the response is the signature of a
  tool, or the names below a server, each with the name that the server gives it.

The host trusts nothing of this: the code can do with its own process as it likes.
"""

from __future__ import annotations

import ast
import codecs
import io
import itertools
import json
import linecache
import os
import sys
import threading
import traceback
import types
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from queue import SimpleQueue
from typing import Any, Callable

# Calls that are under way; the others wait here, and not in the host, which ends a flood.
_AT_ONCE = 32
_FILE = "<code>"
_SHOWN_FRAMES = 8
_LAST = "__last__"


class ToolError(Exception):
    """A tool that failed, that was refused, or that does not exist."""


class NoSuchTool(ToolError, AttributeError):
    """A tool that does not exist."""


class Host:
    """The host at the other end of the pipes."""

    def __init__(self) -> None:
        self._input, self._output = os.dup(0), os.dup(1)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        self._others: int | None = None
        if os.name == "posix":  # other programs that the code starts print to this pipe
            self._others, printing = os.pipe()
            os.set_blocking(self._others, False)
            os.dup2(printing, 1)
            os.dup2(printing, 2)
        else:
            os.dup2(2, 1)
        self._passing = threading.Lock()
        self.runs: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._answers: dict[int, SimpleQueue[dict[str, Any]]] = {}
        self._ids = itertools.count(1)
        self._sending = threading.Lock()
        self._room = threading.Semaphore(_AT_ONCE)
        self.known: dict[str, dict[str, str] | str] = {}  # answers about paths, of this run

    @cached_property
    def _pool(self) -> Any:
        return import_module("concurrent.futures").ThreadPoolExecutor(_AT_ONCE)

    def send(self, **message: Any) -> None:
        """Send a message. Raises `TypeError` or `ValueError` if it is not JSON."""
        data = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        with self._sending:
            while data:
                data = data[os.write(self._output, data) :]

    def pass_on(self) -> None:
        """Send what other programs have printed so far."""
        with self._passing, suppress(BlockingIOError):
            while self._others is not None:
                data = os.read(self._others, 65536)
                self.send(method="output", params={"text": data.decode("utf-8", "replace")})

    def watch(self) -> None:
        """Send what other programs print, in a thread: the pipe holds 64 KiB."""
        while self._others is not None:
            import_module("select").select([self._others], [], [])
            self.pass_on()

    def receive(self) -> None:
        """Handle the messages of the host, in a thread, until the host ends this process."""
        with open(self._input, "rb") as lines:
            for line in lines:
                message = json.loads(line)
                if "method" in message:
                    self.runs.put(message)
                else:
                    self._answers.pop(message["id"]).put(message["result"])
        os._exit(0)

    def about(self, path: str) -> dict[str, str] | str:
        """Return the names below a path, or the signature of a tool. Raises `NoSuchTool`."""
        if path not in self.known:
            try:
                self.known[path] = self.call(path, None)
            except ToolError as error:
                raise NoSuchTool(*error.args) from None
        return self.known[path]

    def call(self, path: str, arguments: dict[str, Any] | None) -> Any:
        """Call a tool and wait for its value. Raises `ToolError`."""
        number = next(self._ids)
        answers = self._answers[number] = SimpleQueue()
        with self._room:
            self.send(id=number, method="call", params={"path": path, "arguments": arguments})
            answer = answers.get()
        if "error" in answer:
            raise ToolError(answer["error"])
        return answer["value"]

    async def call_async(self, path: str, arguments: dict[str, Any]) -> Any:
        """Call a tool and await its value. Raises `ToolError`."""
        loop = import_module("asyncio").get_running_loop()
        return await loop.run_in_executor(self._pool, self.call, path, arguments)


class Tools:
    """Tools by name: an attribute is a tool, or a server with tools."""

    def __init__(
        self, host: Host, call: Callable[[str, dict[str, Any]], Any], path: str = ""
    ) -> None:
        self._host, self._call, self._path = host, call, path

    def _names(self) -> dict[str, str]:
        found = self._host.about(self._path)
        return found if isinstance(found, dict) else {}

    def __getattr__(self, name: str) -> Tools:
        if name.startswith("_"):
            raise AttributeError(name)
        path = f"{self._path}.{name}".lstrip(".")
        self._host.about(path)
        return Tools(self._host, self._call, path)

    def __getitem__(self, name: str) -> Tools:
        names = self._names()
        own = (each for each, original in names.items() if original == name)
        found: Tools = getattr(self, name if name in names else next(own, name))
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __contains__(self, name: str) -> bool:
        names = self._names()
        return name in names or name in names.values()

    def __dir__(self) -> list[str]:
        return sorted(self._names())

    def __repr__(self) -> str:
        found = self._host.about(self._path)
        where = f"tools.{self._path}".rstrip(".")
        return f"<{where}: {', '.join(found)}>" if isinstance(found, dict) else found

    def __call__(self, *positional: Any, **arguments: Any) -> Any:
        """Call the tool with named arguments, or with one dict of them."""
        if len(positional) == 1 and isinstance(positional[0], dict) and not arguments:
            arguments = positional[0]
        elif positional:
            raise TypeError(f"name the arguments: tools.{self._path}(name=value)")
        return self._call(self._path, arguments)


def show_help(*subject: Any) -> None:
    """Print the signature of a tool, the tools of a server, or what Python says."""
    if len(subject) == 1 and isinstance(subject[0], Tools):
        print(subject[0])
    else:
        import_module("pydoc").help(*subject)


class _Printed(io.RawIOBase):
    def __init__(self, host: Host) -> None:
        self._host = host
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        text = self._decoder.decode(bytes(data))
        if text:
            self._host.pass_on()  # printed before
            self._host.send(method="output", params={"text": text})
        return len(data)


def _run(code: str, names: dict[str, Any]) -> None:
    linecache.cache[_FILE] = (len(code), None, code.splitlines(keepends=True), _FILE)
    tree = ast.parse(code, _FILE)
    names[_LAST] = None
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        target = ast.copy_location(ast.Name(_LAST, ast.Store()), last)
        tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
    compiled = compile(tree, _FILE, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    awaitable = eval(compiled, names)
    if awaitable is not None:
        import_module("asyncio").run(awaitable)
    value = names[_LAST]
    if value is not None:
        print(value if isinstance(value, str) else repr(value))


def _failure(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "" if error.code in (None, 0) else f"SystemExit: {error.code}"
    told = traceback.TracebackException.from_exception(error)
    files = [frame.filename for frame in told.stack]
    first = files.index(_FILE) if _FILE in files else len(files)  # before it are those that run it
    own = [frame for frame in told.stack[first:] if frame.filename != "<string>"]
    told.stack = traceback.StackSummary.from_list(own[-_SHOWN_FRAMES:])
    return "".join(told.format())


def main() -> None:
    """Run the pieces of code that come, one after the other, with the same names."""
    host = Host()
    with suppress(OSError):  # a sandbox may grant no folder
        os.chdir(os.environ.get("TMPDIR", "."))
    printed = io.BufferedWriter(_Printed(host), 32 * 1024)
    sys.stdin = io.TextIOWrapper(io.BytesIO())
    sys.stdout = sys.stderr = io.TextIOWrapper(printed, "utf-8", "replace", line_buffering=True)
    for work in (host.receive, host.watch):
        threading.Thread(target=work, daemon=True).start()
    module = sys.modules["__main__"] = types.ModuleType("__main__")  # its classes are pickled
    names = module.__dict__
    names.update(ToolError=ToolError, exit=sys.exit, quit=sys.exit, help=show_help)
    tools = {"tools": Tools(host, host.call), "async_tools": Tools(host, host.call_async)}
    while True:
        run = host.runs.get()
        names.update(tools)
        host.known.clear()  # the tools may have changed since the last run
        failure = ""
        try:
            _run(run["params"]["code"], names)
        except BaseException as error:
            failure = _failure(error)
        print(failure, end="", flush=True)
        host.pass_on()
        host.send(id=run["id"], result={"failed": bool(failure)})


if __name__ == "__main__":
    main()
