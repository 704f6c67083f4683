"""Denials of a sandbox, recognized by the server's own messages.

The kernel reports a denial only to the program: a denied file is an error of ``open``, which the
program prints, returns or hides. So these are guesses, which name the path and the right.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from .files import given_paths, is_below, program_files, system_files, to_grant
from .rights import Sandbox

if TYPE_CHECKING:
    from ..errors import McpError

_REPORT = "[mcpclient sandbox] "
# Only so many characters at the end are searched.
_SEARCHED = 16 * 1024

_DENIED = re.compile(
    r"(?i:permission denied|read-only file system|access(?: to the path)? .{0,300}? is denied"
    r"|operation not permitted)|EACCES|EROFS|\bEPERM\b|AccessDenied|\[Errno (?:13|30)\]"
    r"|unable to open database file|attempt to write a readonly database"
)
# The characters around such words that are searched, and the most places in one string: a server
# chooses the string, and must not be able to make this take long.
_AROUND, _MOST = 300, 40
_READ_ONLY = re.compile(
    r"(?i:read-only file system|readonly database|database file)|EROFS|\[Errno 30\]"
    r"|\b(?:mkdir|unlink|rename|copyfile|rmdir|symlink|link|chmod|utime|create|write|append|lock)\b"
)
# In quotes, or before a colon or bracket: open /a b: permission denied; /a b (Permission denied).
_PATHS = (
    re.compile(r"'([^'\n]*/[^'\n]*)'"),
    re.compile(r"[‘`]([^’'`\n]*/[^’'`\n]*)[’'`]"),
    re.compile(r'"([^"\n]*/[^"\n]*)"'),
    re.compile(r"(?:^|[\s(])(~?/[^\s:'\"()][^:'\"()\n]{0,1000}?)(?=: |\)|\s*\(|$)"),
)
_NETWORK = re.compile(
    r"EAI_AGAIN|ENETUNREACH|(?i:temporary failure in name resolution|could ?n[o']t resolve host"
    r"|name or service not known|failed to lookup address|network is unreachable"
    r"|no address associated with hostname|unknownhostexception|fetch failed|failed to fetch"
    r"|connection (?:error|failed|issue)|network error|error 13 connecting)"
    # Python names a file that is denied, but no address.
    r"|\[Errno 13\] Permission denied(?!: ?b?['\"])|\[Errno -[235]\]"
    r"|(?:socket|connect|listen|bind)(?:: (?i:permission denied)| EACCES)"
    r"|(?:SocketException|Cannot connect to host)[^\n]{0,200}(?i:permission denied)"
)
_UNIX_SOCKET = re.compile(
    r"(?i:permission denied|EACCES)[^\n]{0,200}?((?:/[\w.-]{1,100}){1,20}\.sock)\b"
    r"|((?:/[\w.-]{1,100}){1,20}\.sock)\b[^\n]{0,200}(?i:permission denied|EACCES)"
)
# Of calls such as mount, ptrace or clone with a namespace; of those about files it names one.
_NOT_PERMITTED = re.compile(r"(?i:operation not permitted)|\bEPERM\b")
_OWNERSHIP = re.compile(r"\bl?chown\b|\bownership\b")
# npm names the call and its path on lines of their own.
_MORE_OF_NPM = re.compile(r"\nnpm (?:ERR!|error) (?=(?:syscall|path) )")
_SEMAPHORE = re.compile(r"_multiprocessing\.SemLock|sem_open")
_PRIVATE = re.compile(r"/mcpclient-[0-9a-f]{24}(?:/|\Z)")  # the server's own temporary folder


class Denial(NamedTuple):
    """A right that a server lacked: ``"network"``, ``"read"``, ``"write"``, or ``""`` for none.

    ``path``: what it was about to use. ``grant``: that file or folder, or a folder above it.
    """

    right: str
    path: str = ""
    grant: str = ""

    def __str__(self) -> str:
        if self.right == "network":
            said = "a connection to the network was denied; the right it needs is 'network'"
            return f"{said}: --allow-network"
        if not self.right:
            return f"{self.path or 'a system call'} was denied, which no right of a sandbox grants"
        verb = "writing" if self.right == "write" else "reading"
        needed = f"{self.right!r}: --allow-{self.right} {self.grant!a}"
        return f"{verb} {self.path!a} was denied; the right it needs is {needed}"

    @property
    def hint(self) -> str:
        """The next step, with the name of the option as `mcpclient.hints` spells it."""
        if not self.right:
            return "Run the server without a sandbox, or have it do without this."
        missing = "" if not self.grant or os.path.exists(self.grant) else "Create it, and "
        return f"{missing}{{grant_{self.right}}}\0{self.grant}"


class Denials:
    """The denials of one server, whose output is given to `read` as it arrives."""

    def __init__(
        self, sandbox: Sandbox, command: Sequence[str], env: Mapping[str, str], directory: str
    ) -> None:
        self._sandbox = sandbox
        self._command = command
        self._env = env
        self._directory = os.path.abspath(directory or ".")
        self._is_silent = True
        self.found: dict[Denial, None] = {}
        """All of them, in order."""
        self.report: Callable[[str], object] = lambda line: None
        """Called with a line for each that was not known before."""

    def read(self, text: str) -> list[Denial]:
        """Return the denials that ``text`` mentions; remember and report them."""
        self._is_silent = self._is_silent and not text.strip()
        text = _MORE_OF_NPM.sub(" ", text[-_SEARCHED:])
        told = list(dict.fromkeys(self._denials_in(text)))
        for denial in told:
            if denial not in self.found:
                self.found[denial] = None
                self.report(f"{_REPORT}{denial}\n")
        return told

    def read_failure(self, text: str) -> list[Denial]:
        """Return the likely denials behind a failure.

        Its text or the server's stderr mentions them; or else it names paths that the command was
        given: a program in a sandbox may believe that they do not exist.
        """
        denied = self.read(text) or list(self.found)
        return denied or [_denial_of_given(path) for path in self._lacking() if path in text]

    def advise(self, error: McpError) -> None:
        """Set the hint of an error that is likely to come from a denial."""
        denied = self.read_failure(str(error))
        if denied:
            error.advise(denied[0].hint)

    def advise_start(self, error: McpError) -> None:
        """Set the hint of an error of a server that ended, or did not answer."""
        is_silent = self._is_silent
        if self.read_failure(str(error)):
            self.advise(error)
            return
        needed = Sandbox.for_command(self._command, self._env, self._directory)
        readable = [*self._readable, *self._writable]
        lacking = Sandbox(
            [path for path in needed.read if not is_below(self._full(path), readable)],
            [path for path in needed.write if not is_below(self._full(path), self._writable)],
            needed.network and not self._sandbox.network,
        )
        if lacking != Sandbox():
            words = " ".join(lacking.as_options())
            error.advise(f"Its sandbox lacks what such a server is likely to need: {words}")
        elif is_silent and (getattr(error, "exit_code", 0) or 0) >= 0:  # by itself, not by a signal
            error.advise(
                "It said nothing. Run it without its sandbox to see if that is the reason."
            )

    def _denials_in(self, text: str) -> Iterator[Denial]:
        """Yield the denials that a string mentions."""
        lines = list(_lines_of(text))
        if lines and _SEMAPHORE.search(text):
            yield Denial("write", "/dev/shm", "/dev/shm")
            return
        for socket in filter(None, map(_UNIX_SOCKET.search, lines)):
            yield Denial("", f"the Unix socket {socket[1] or socket[2]}")
            return
        lacks_network = not self._sandbox.network and _NETWORK.search(text) is not None
        if lacks_network:
            yield Denial("network")
        is_unnamed = False
        for line in lines:
            named = next(filter(None, (kind.findall(line) for kind in _PATHS)), [])
            yield from filter(None, (self._denial_of(path, line) for path in named))
            if not named and _NOT_PERMITTED.search(line):
                yield Denial("")
            elif not named:
                is_unnamed = True
        if is_unnamed and not lacks_network and not self.found:
            yield from self._guessed(text)

    def _guessed(self, text: str) -> Iterator[Denial]:
        """Yield the likely cause of an error that names no path."""
        lacking = self._lacking()
        yield from map(_denial_of_given, lacking)
        if not lacking and not self._sandbox.network and not _READ_ONLY.search(text):
            yield Denial("network")

    def _lacking(self) -> list[str]:
        return [path for path in self._given if not is_below(path, self._writable)]

    def _denial_of(self, path: str, line: str) -> Denial | None:
        """Return the denial of a path; None if it is granted: then the system itself refuses it."""
        if "\0" in path:  # the server wrote it, and no file has such a name
            return None
        is_read_only = _READ_ONLY.search(line.replace(path, ""))
        path = os.path.normpath(os.path.join(self._directory, os.path.expanduser(path)))
        is_elsewhere = not os.path.lexists("/" + path.split("/")[1])  # the path of a URL, perhaps
        if is_elsewhere or _PRIVATE.search(path) or is_below(path, self._writable):
            return None
        if _OWNERSHIP.search(line):
            return Denial("", f"changing the owner of {path!a}")
        if path in self._given:
            return _denial_of_given(path)
        if is_read_only or not os.path.exists(path) or is_below(path, self._readable):
            return Denial("write", path, _folder_to_grant(path))
        around = [each for each in self._given if is_below(path, [each])]
        return Denial("read", path, around[0] if around else path)

    def _full(self, path: str | os.PathLike[str]) -> str:
        return os.path.realpath(os.path.join(self._directory, os.path.expanduser(path)))

    @cached_property
    def _given(self) -> list[str]:
        return list(given_paths(self._command, self._env, self._directory))

    @cached_property
    def _writable(self) -> list[str]:
        return [self._full(path) for path in self._sandbox.write]

    @cached_property
    def _readable(self) -> list[str]:
        program = shutil.which(self._command[0], path=self._env.get("PATH", os.defpath))
        executable = program or os.path.join(self._directory, self._command[0])
        own = program_files(self._command, self._env, self._directory, executable)
        given = [self._full(path) for path in self._sandbox.read]
        return [*system_files(), *(os.path.realpath(path) for path in own), *given]


def _denial_of_given(path: str) -> Denial:
    right, granted = to_grant(path)
    return Denial(right, path, granted)


def _lines_of(text: str) -> Iterator[str]:
    """Yield the lines that mention a denial, or the part of a long line around its words."""
    end = 0
    for found in itertools.islice(_DENIED.finditer(text), _MOST):
        if found.start() < end:
            continue
        start = max(text.rfind("\n", 0, found.start()) + 1, found.start() - _AROUND)
        end = text.find("\n", found.end(), found.end() + _AROUND)
        end = found.end() + _AROUND if end < 0 else end
        yield text[start:end]


def _folder_to_grant(path: str) -> str:
    """Return the folder in which a program writes files, unless it is the home or another's too."""
    home = os.path.realpath(os.path.expanduser("~"))
    below, folder = path, path
    while not os.path.isdir(folder):
        below, folder = folder, os.path.dirname(folder)
    is_wide = is_below(home, [folder]) or folder in ("/tmp", "/var/tmp", "/etc", "/var", "/srv")
    return below if is_wide else folder
