"""Programs other than servers: the file behind a name, running one, headers that one prints."""

from __future__ import annotations

import asyncio
import copy
import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

from ...errors import ConnectFailed, McpError, UsageError
from ...framing.headers import merged
from ...jsonrpc.codec import parse_json
from ..futures import call_in_thread
from .launch import launch
from .stopping import ProcessGroup, close_pipes, process_group

_MAX_CHAIN = 40


def links_of(program: str, search_path: str | None = None) -> list[str]:
    """Return the paths that lead from a program's name to its file, the file itself last.

    ``search_path``: where a bare name is looked for instead of the ``PATH`` of this process. Empty
    when there is no such program.
    """
    from shutil import which

    try:
        found = which(program, path=search_path)
        if found is None:
            return []
        paths = [found]
        while os.path.islink(paths[-1]) and len(paths) < _MAX_CHAIN:
            paths.append(os.path.join(os.path.dirname(paths[-1]), os.readlink(paths[-1])))
        paths.append(os.path.realpath(found))
    except (OSError, ValueError):  # a name that no file has, or a loop of links
        return []
    return list(dict.fromkeys(paths))


async def output_of(
    words: Sequence[str], env: Mapping[str, str], cwd: str | None, *, limit: int, seconds: float
) -> tuple[int, bytes]:
    """Run a program without input; return its exit code and its stdout.

    Its stderr is dropped. At most ``limit`` bytes and one more are returned: then,
    and after ``seconds``, it is killed with all that it started. Raises `UsageError` or
    `ConnectFailed` where it cannot be started, and `asyncio.TimeoutError`.
    """
    process = launch(words, env, cwd, stderr=subprocess.DEVNULL)
    group = process_group(process)
    try:
        reading = call_in_thread(lambda: _output(process, group, limit))
        return await asyncio.wait_for(reading, seconds)
    except BaseException:
        group.kill()  # so that the thread reaches the end of the output
        raise


def _output(process: subprocess.Popen[bytes], group: ProcessGroup, limit: int) -> tuple[int, bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    found = b""
    while len(found) <= limit:
        chunk = process.stdout.read(limit + 1 - len(found))
        if not chunk:
            break
        found += chunk
    if len(found) > limit:
        group.kill()
    code = process.wait()
    group.kill()  # and any process it left running
    group.forget()
    close_pipes(process)
    return code, found


async def run_program(
    words: Sequence[str], content: bytes, stderr: int | None = None, seconds: float | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a program with ``content`` on its stdin, and return its exit code and its output.

    ``words``: the program and its arguments, exactly as it gets them, without a shell. ``stderr``:
    as of `subprocess.Popen`; by default it is ours. Raises `UsageError` when it cannot be started,
    and `subprocess.TimeoutExpired` after ``seconds``. Cancelling kills it.
    """
    try:
        process = subprocess.Popen(  # noqa: ASYNC220 - starting takes no time
            list(words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot run {words[0]!r}: {reason}") from None

    def talk() -> tuple[bytes, bytes]:
        with process:
            try:
                return process.communicate(content, seconds)
            except BaseException:
                process.kill()
                raise

    try:
        output, errors = await call_in_thread(talk)
    except BaseException:
        with suppress(OSError):
            process.kill()
        raise
    return subprocess.CompletedProcess(words, process.returncode, output, errors)


_MAX_OUTPUT = 64 * 1024


class HeadersFrom:
    """The headers of a server, printed by a program as a JSON object of strings.

    - ``command``: the program and its arguments, which no shell reads. ``{url}`` in an argument
      stands for the URL of the server.
    - ``expires``: seconds for which printed headers are used. Default: 300.
    - ``timeout``: seconds that the program may take. Default: 10.

    The program runs for the first request, for one that comes after ``expires``, and after a 401,
    unless ``auth=`` has a login that handles that. It runs once for all requests that wait. At most
    64 KiB are read; neither its output nor its stderr is ever shown or logged. Raises `UsageError`.

    >>> headers = HeadersFrom(["corp-token", "--for", "{url}"], expires=600)
    """

    def __init__(
        self, command: Sequence[str], *, expires: float = 300.0, timeout: float = 10.0
    ) -> None:
        if isinstance(command, str) or not command or not all(isinstance(w, str) for w in command):
            raise UsageError("the command of HeadersFrom must be a list of strings, program first")
        self.expires = expires
        self.timeout = timeout
        self.fixed: Mapping[str, str] = {}  # printed ones of the same name replace these,
        self._over: Mapping[str, str] = {}  # and these replace printed ones
        self.words: list[str] = list(command)
        """The command that is run, for judging it."""
        self._server = ""
        self._program = f"the command for its headers, {self.words[0]!r},"
        self._env: Mapping[str, str] = {}
        self._cwd: str | None = None
        self._by_url: dict[str, HeadersFrom] = {}
        self._run: asyncio.Task[Mapping[str, str]] | None = None
        self._printed: Mapping[str, str] | None = None
        self._valid_until = 0.0

    def __repr__(self) -> str:  # arguments may be secrets
        return f"HeadersFrom([{self.words[0]!r}, …])"

    def for_url(self, url: str) -> HeadersFrom:
        """Return the headers for a server, which all connections to it share."""
        if url not in self._by_url:
            self._by_url[url] = bound = copy.copy(self)
            bound.words = [word.replace("{url}", url) for word in self.words]
            bound._server = url
        return self._by_url[url]

    def with_headers(self, headers: Mapping[str, str]) -> HeadersFrom:
        """Return the same with ``headers`` in place of printed ones of their names."""
        other = copy.copy(self)
        other._over, other._by_url = headers, {}
        return other

    async def __call__(self) -> Mapping[str, str]:
        """Return the headers. Raises `ConnectFailed` where the program does not print any."""
        run, loop = self._run, asyncio.get_running_loop()
        if self._printed is not None and loop.time() < self._valid_until:
            return self._printed
        if run is None or run.done() or run.get_loop() is not loop:
            run = self._run = loop.create_task(self._print())
        # Cancelling one request must not affect the others that wait for the headers.
        return await asyncio.shield(run)

    async def replacing(self, refused: Mapping[str, str]) -> Mapping[str, str]:
        """Return the headers after a 401 for ``refused`` ones; the program runs again for these."""
        if self._printed is refused:  # otherwise it has run since
            self._printed = None
        return await self()

    async def _print(self) -> Mapping[str, str]:
        env = {**os.environ, **self._env}
        try:
            code, output = await output_of(
                self.words, env, self._cwd, limit=_MAX_OUTPUT, seconds=self.timeout
            )
        except (asyncio.TimeoutError, TimeoutError):
            raise self._failed(f"did not end within {self.timeout:g} seconds") from None
        except McpError:
            raise self._failed("cannot be started") from None
        if len(output) > _MAX_OUTPUT:
            raise self._failed(f"printed more than {_MAX_OUTPUT} bytes")
        if code != 0:
            raise self._failed(f"exited with code {code}")
        found = parse_json(output)
        if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
            raise self._failed("did not print a JSON object of strings")
        self._valid_until = asyncio.get_running_loop().time() + self.expires
        headers = merged(self.fixed.items(), found.items())
        self._printed = dict(merged(headers, self._over.items()))
        return self._printed

    def _failed(self, reason: str) -> ConnectFailed:
        return ConnectFailed(self._server, f"{self._program} {reason}").advise(
            "Run it in a terminal: it has to print a JSON object of strings, and exit with code 0."
        )
