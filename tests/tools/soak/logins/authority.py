"""An authorization server and the MCP servers of many users, in one process that may be killed.

Run as a file::

    python authority.py FOLDER PORT SEED strict|lenient

``/u7/mcp`` is the server of user ``u7``; access tokens are used up as soon as they are given. What
counts is in the journal of the folder, so that a server that is started again goes on where it was
killed. It kills itself, and the client that waits for it, at the moments that `REASONS` name. It
imports nothing of the library, and ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from contextlib import suppress
from pathlib import Path
from random import Random
from urllib.parse import parse_qs

sys.path.insert(0, str(Path(__file__).parents[4]))

from tests.tools.soak.acts import Json, SoakServer
from tests.tools.soak.logins.journal import Journal, Line, Tokens
from tests.tools.soak.server import Site, respond

# A token of such a number is refused by the MCP server, which then wants another.
_REFUSED_EVERY = 40

# Seconds after which an access token is no longer valid: the next request needs another.
_LIFETIME = 0.002

# What may happen to a token request, and how often. Where tokens are strictly used once, no client
# is killed between their use and the arrival of their successor: no client could hold a login then.
# Nor is the client whose token is unused: it may be waiting for another answer as well.
REASONS = {
    "late": 0.10,
    "busy": 0.01,
    "page": 0.01,
    "server-unused": 0.005,
    "client-unused": 0.015,
    "server-used": 0.005,
    "server-half-answered": 0.005,
    "client-used": 0.02,
}
_LENIENT_ONLY = ("client-unused", "server-used", "server-half-answered", "client-used")

_PAGES = (b"200 OK", b"403 Forbidden", b"404 Not Found")


class Authority(Site):
    """It has the routes of a `Site`, with a guard before them."""

    def __init__(self, folder: Path, seed: str, strict: bool) -> None:
        super().__init__(SoakServer(os.devnull))
        self._journal = Journal(folder / "journal", "server")
        self._holders = folder / "holders"
        self._tokens = Tokens(strict)
        for line in self._journal.lines():
            self._tokens.take(line)
        self._random = Random(seed)
        names = [name for name in REASONS if not (strict and name in _LENIENT_ONLY)]
        self._reasons = [*names, ""]
        shares = [REASONS[name] for name in names]
        self._shares = [*shares, 1 - sum(shares)]

    async def _request(
        self,
        method: bytes,
        target: bytes,
        headers: dict[bytes, bytes],
        body: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bytes:
        origin = f"http://{headers[b'host'].decode()}"
        path = target.decode()
        if path == "/token":
            form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
            return await self._token(form, writer)
        if path == "/register":
            return answer(writer, b"201 Created", {"client_id": "soak"})
        if path.startswith("/.well-known/"):
            return self._metadata(path, origin, writer)
        user, number = _bearer(headers)
        if not path.startswith(f"/{user}/") or number % _REFUSED_EVERY == 0:
            refusal = b'HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer error="%b"\r\n'
            writer.write(refusal % (b"invalid_token" if user else b""))
            writer.write(b"content-length: 0\r\n\r\n")
            return b""
        return await super()._request(method, target, headers, body, reader, writer)

    def _metadata(self, path: str, origin: str, writer: asyncio.StreamWriter) -> bytes:
        _, found, resource = path.partition("/oauth-protected-resource")
        if found and resource:
            known: Json = {"resource": origin + resource, "authorization_servers": [origin]}
        elif path == "/.well-known/oauth-authorization-server":
            endpoints = {name: f"{origin}/{name}" for name in ("authorize", "token", "register")}
            known = {
                "issuer": origin,
                "authorization_endpoint": endpoints["authorize"],
                "token_endpoint": endpoints["token"],
                "registration_endpoint": endpoints["register"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            }
        else:
            return respond(writer, b"404 Not Found")
        return answer(writer, b"200 OK", known)

    async def _token(self, form: dict[str, str], writer: asyncio.StreamWriter) -> bytes:
        (user,) = re.findall(r"/(u\d+)/", form["resource"])
        reason = self._random.choices(self._reasons, self._shares)[0]
        if reason:
            self._journal.write("disturbed", reason)
        if reason == "late":
            await asyncio.sleep(self._random.uniform(0, 0.03))
        elif reason == "busy":
            return respond(writer, b"503 Service Unavailable")
        elif reason == "page":
            head = b"HTTP/1.1 %b\r\ncontent-type: text/html\r\ncontent-length: 16\r\n\r\n"
            writer.write(head % self._random.choice(_PAGES) + b"<h1>Welcome</h1>")
            return b""
        self._kill(reason, user, "unused")
        if reason == "client-unused":
            raise ConnectionResetError
        issued = self._issue(form, user)
        if issued is None:
            return answer(writer, b"400 Bad Request", {"error": "invalid_grant"})
        self._kill(reason, user, "used")
        if reason == "server-half-answered":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{")
            await writer.drain()
            self._kill(reason, user, "half-answered")
        return answer(writer, b"200 OK", issued)

    def _issue(self, form: dict[str, str], user: str) -> Json | None:
        number = self._tokens.next(user)
        if form["grant_type"] == "refresh_token":
            used = int(form["refresh_token"].rpartition("-")[2])
            if used not in self._tokens.valid.get(user, ()):
                self._journal.write("refused", user, used)
                return None
            self._note("used", user, used)
            self._note("rotated", user, number)
        else:
            self._note("issued", user, number)
        return {
            "access_token": f"access-{user}-{number}",
            "refresh_token": f"refresh-{user}-{number}",
            "token_type": "Bearer",
            "expires_in": _LIFETIME,
        }

    def _note(self, verb: str, user: str, number: int) -> None:
        self._journal.write(verb, user, number)
        self._tokens.take(Line(verb, user, number, "server"))

    def _kill(self, reason: str, user: str, moment: str) -> None:
        """Kill whom ``reason`` names, when this is its moment."""
        who, _, when = reason.partition("-")
        if when != moment:
            return
        # The client that waits for the answer is the one that holds the lock.
        process = os.getpid() if who == "server" else int((self._holders / user).read_text())
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _bearer(headers: dict[bytes, bytes]) -> tuple[str, int]:
    """The user and the number of the access token of a request."""
    found = re.fullmatch(r"Bearer access-(\w+)-(\d+)", headers.get(b"authorization", b"").decode())
    return (found[1], int(found[2])) if found else ("", 0)


def answer(writer: asyncio.StreamWriter, status: bytes, content: Json) -> bytes:
    body = json.dumps(content).encode()
    head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    writer.write(head % (status, len(body)) + body)
    return b""


async def serve(folder: str, port: str, seed: str, rotation: str) -> None:
    authority = Authority(Path(folder), seed, rotation == "strict")
    asyncio.get_running_loop().add_reader(0, lambda: os._exit(0))
    await asyncio.start_server(authority.connected, "127.0.0.1", int(port))
    await asyncio.Event().wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(*sys.argv[1:]))
    os._exit(0)
