"""Logins by Negotiate at servers and proxies, with a stand-in for the library of the system."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient import Negotiate
from mcpclient.errors import AuthError, ConnectFailed, UsageError
from mcpclient.framing.headers import Headers
from mcpclient.framing.http1 import ResponseHead
from mcpclient.framing.uri import parse_url
from mcpclient.net import kerberos
from mcpclient.net.kerberos import NegotiateAuthorizer, challenge_in, context_maker
from mcpclient.net.proxies import Tunnel
from tests.client.scripted_server import turns
from tests.net.certificates import Authority
from tests.net.mcp_over_http import McpOverHttp
from tests.net.peers import Proxy, join, serve


class Context:
    """A context whose server answers ``messages`` times."""

    def __init__(self, host: str, binding: bytes) -> None:
        self.host = host
        self.binding = binding
        self.is_complete = self.is_mutual = False
        self.given: list[bytes] = []

    messages = 1
    is_ntlm = False

    def step(self, token: bytes) -> bytes:
        if b"wrong" in token:
            raise AuthError("a wrong proof")
        self.given.append(token)
        count = len(self.given)
        self.is_complete = count == self.messages + (not self.is_ntlm)
        self.is_mutual = self.is_complete and not self.is_ntlm
        return b"" if count > self.messages else b"message %d" % count


@pytest.fixture(autouse=True)
def contexts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Context]]:
    made: list[Context] = []

    def make(host: str, binding: bytes) -> Context:
        made.append(Context(host, binding))
        return made[-1]

    monkeypatch.setattr(kerberos, "context_maker", lambda: make)
    yield made
    Context.messages, Context.is_ntlm = 1, False


def encoded(message: bytes) -> str:
    return f"Negotiate {base64.b64encode(message).decode()}"


class Kerberos(McpOverHttp):
    """Answers only requests of users, each of them with a message of its own.

    ``messages``: that the server wants; more than one are one connection's. ``proof``: the last
    answer. ``by_connection``: a connection needs only one login.
    """

    def __init__(self, messages: int = 1, proof: bytes = b"proof") -> None:
        super().__init__()
        self.messages = messages
        self.proof = proof
        self.statuses: list[int] = []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        done = 0
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:-2])
            body = await reader.readexactly(int(fields.get("content-length", 0)))
            given, expected = fields.get("authorization"), encoded(b"message %d" % (done + 1))
            if done < self.messages and given == expected.lower():
                done += 1
            elif self.messages == 1:
                done = 0
            if done < self.messages:
                status, answer = "401 No", b"no"
                challenge = encoded(b"go on") if done else "Negotiate"
            else:
                status, answer = self._answer(head, body)
                challenge = encoded(self.proof) if self.proof and given else ""
            self.statuses.append(int(status[:3]))
            lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(answer)}"]
            lines += [f"WWW-Authenticate: {challenge}"] if challenge else []
            writer.write("\r\n".join([*lines, "Content-Type: application/json", "\r\n"]).encode())
            writer.write(answer)
            await writer.drain()
            done = 0 if self.messages == 1 else done


async def calls(url: str, count: int = 3, **options: Any) -> None:
    async with mcpclient.connect(url, transport="http", **options) as client:
        wanted = [client.call_tool("echo", {"text": str(n)}) for n in range(count)]
        assert [done.text for done in await asyncio.gather(*wanted)] == [*map(str, range(count))]


KERBEROS = Negotiate()


def over_http(server: McpOverHttp, auth: Any = KERBEROS, **options: Any) -> None:
    async def main() -> None:
        async with serve(server.handle) as port:
            await calls(f"http://localhost:{port}/mcp", auth=auth, **options)

    asyncio.run(main())


def test_ntlm_proves_nothing() -> None:
    """F-HTTP-15: a downgrade is an error."""
    Context.is_ntlm = True
    with pytest.raises(AuthError, match="localhost has not proved its identity") as caught:
        over_http(Kerberos(proof=b""))
    assert "Negotiate(mutual=False)" in caught.value.hint


def test_a_login_is_bound_to_the_certificate(contexts: list[Context], tmp_path: Path) -> None:
    """F-HTTP-15: tls-server-end-point (RFC 5929); ``host`` names the service."""
    authority = Authority(tmp_path)

    async def main() -> bytes:
        server = Kerberos()
        async with serve(server.handle, tls=authority.server_context()) as port:
            options: Any = {"ca_file": authority.file, "auth": Negotiate(host="service.example")}
            await calls(f"https://localhost:{port}/mcp", **options)
            context = ssl.create_default_context(cafile=authority.file)
            _, writer = await asyncio.open_connection("localhost", port, ssl=context)
            certificate: bytes = writer.get_extra_info("ssl_object").getpeercert(True)
            writer.transport.abort()
            return certificate

    digest = hashlib.sha256(asyncio.run(main())).digest()
    assert {made.binding for made in contexts} == {b"tls-server-end-point:" + digest}
    assert {made.host for made in contexts} == {"service.example"}


def refusal(challenge: str = "Negotiate", status: int = 401) -> ResponseHead:
    headers = Headers([("WWW-Authenticate", challenge)])
    return ResponseHead(status, "No", headers, "1.1", certificate=b"")


async def test_another_origin_gets_nothing(contexts: list[Context]) -> None:
    """F-HTTP-15: neither a message of its own, nor one after its refusal."""
    owner = NegotiateAuthorizer(Negotiate(), "https://h/mcp")
    owner.is_eager = True
    assert await owner.request("GET", "https://other/mcp").headers() == {}
    request = owner.request("GET", "https://h/mcp")
    assert (await request.headers())["Authorization"].startswith("Negotiate ")
    assert await request.headers("https://h:444/mcp") == {}
    assert not await request.recover(refusal())
    assert len(contexts) == 1


async def test_what_is_not_a_challenge_of_its_own(contexts: list[Context]) -> None:
    """F-HTTP-15"""
    request = NegotiateAuthorizer(Negotiate(), "https://h/mcp").request("GET", "https://h/mcp")
    assert await request.headers() == {}
    assert not await request.recover(refusal("Bearer"))
    assert not await request.recover(refusal(status=403))
    request.note(refusal(status=200))
    assert contexts == []


async def test_an_early_login_that_is_refused_is_made_again(contexts: list[Context]) -> None:
    """F-HTTP-15: the certificate may be another one by now."""
    owner = NegotiateAuthorizer(Negotiate(), "https://h/mcp")
    owner.is_eager = True
    request = owner.request("GET", "https://h/mcp")
    first = await request.headers()
    assert await request.headers() == first
    assert await request.recover(refusal())
    assert not await request.recover(refusal())
    assert len(contexts) == 2


async def test_a_login_without_end() -> None:
    """F-HTTP-15"""
    Context.messages = 100
    request = NegotiateAuthorizer(Negotiate(), "https://h/mcp").request("GET", "https://h/mcp")
    await request.recover(refusal())
    for _ in range(9):
        await request.recover(refusal(encoded(b"go on")))
    with pytest.raises(AuthError, match="h did not end the login by Negotiate"):
        await request.recover(refusal(encoded(b"go on")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Negotiate", b""),
        ("NTLM, negotiate", b""),
        ("Negotiate YWJj, Basic realm=x", b"abc"),
        ("Basic realm=negotiate", None),
        ("Negotiated", None),
        ("Negotiate x y", None),
        ("Negotiate YWJjY", None),  # It is not Base64.
        ("", None),
    ],
)
def test_challenges(text: str, message: bytes | None) -> None:
    """F-HTTP-15"""
    assert challenge_in(text) == message


@pytest.mark.parametrize(("platform", "name"), [("win32", "SspiContext"), ("linux", "GssContext")])
def test_each_system_has_its_own_library(
    platform: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-HTTP-15"""
    for library in ("sspi_library", "gssapi_library"):
        monkeypatch.setattr(kerberos, library, lambda: "library")
    assert type(REAL_MAKER(platform)("h", b"")).__name__ == name


REAL_MAKER = context_maker


async def test_a_message_serves_once(contexts: list[Context]) -> None:
    """F-HTTP-15: a request that is sent again, as after a redirect, has one of its own."""
    owner = NegotiateAuthorizer(Negotiate(), "https://h/mcp")
    owner.is_eager = True
    request = owner.request("GET", "https://h/mcp")
    await request.headers()
    await request.headers("https://h/other")
    assert len(contexts) == 2


class KerberosProxy(Proxy):
    """A proxy that wants so many messages, on one connection."""

    def __init__(self, messages: int = 1, proof: bytes = b"") -> None:
        super().__init__()
        self.messages = messages
        self.proof = proof
        self.given: list[str] = []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number in range(1, self.messages + 1):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.requests.append(head.split("\r\n")[0])
            self.given.append(head.split("Proxy-Authorization: ")[1].split("\r\n")[0])
            if self.given[-1] != encoded(b"message %d" % number):
                number = 0
            if number < self.messages:
                challenge = encoded(b"go on") if number else "Negotiate"
                writer.write(
                    f"HTTP/1.1 407 No\r\nProxy-Authenticate: {challenge}\r\n".encode()
                    + b"Content-Length: 4\r\n\r\n"
                )
                await writer.drain()
                writer.write(b"page")
        port = int(self.requests[-1].split(" ")[1].rpartition(":")[2])
        upstream = await asyncio.open_connection("127.0.0.1", port)
        proof = f"Proxy-Authenticate: {encoded(self.proof)}\r\n" if self.proof else ""
        writer.write(f"HTTP/1.1 200 OK\r\n{proof}\r\n".encode())
        await join((reader, writer), upstream)


def through(proxy: Proxy, scheme: str = "http", **options: Any) -> None:
    async def main() -> None:
        async with serve(McpOverHttp().handle) as port, serve(proxy.handle) as entrance:
            await calls(
                f"http://localhost:{port}/mcp", proxy=f"{scheme}://localhost:{entrance}", **options
            )

    asyncio.run(main())


class Wire(asyncio.Transport):
    """Keeps written data."""

    def __init__(self) -> None:
        super().__init__()
        self.written: asyncio.Queue[bytes] = asyncio.Queue()

    def write(self, data: Any) -> None:
        self.written.put_nowait(bytes(data))

    def pause_reading(self) -> None:
        """Nothing comes by itself."""


async def test_a_login_goes_on_behind_the_whole_answer() -> None:
    """F-HTTP-15: the rest of a 407 does not become part of the next answer."""
    Context.messages = 2
    tunnel = Tunnel(parse_url("http://proxy"), parse_url("http://h/"), Negotiate())
    wire = Wire()
    tunnel.connection_made(wire)
    establishing = asyncio.ensure_future(tunnel.establish())
    await wire.written.get()
    challenge = f"Proxy-Authenticate: {encoded(b'go on')}\r\n".encode()
    tunnel.data_received(b"HTTP/1.1 407 No\r\n" + challenge + b"Content-Length: 4\r\n\r\npa")
    await turns(10)
    assert wire.written.empty()
    tunnel.data_received(b"ge")
    assert encoded(b"message 2").encode() in await wire.written.get()
    tunnel.data_received(b"HTTP/1.1 200 OK\r\n\r\n")
    await establishing


def test_a_proxy_that_refuses_the_user() -> None:
    """F-HTTP-15"""
    answer = b"HTTP/1.1 407 No\r\nProxy-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n"
    with pytest.raises(ConnectFailed, match="does not accept the login by Negotiate") as caught:
        through(Proxy(answer=answer), proxy_auth=Negotiate())
    assert "klist" in caught.value.hint
    with pytest.raises(ConnectFailed, match="closed the connection without answering"):
        through(Proxy(answer=b""), proxy_auth=Negotiate())


def test_a_socks_proxy_has_no_such_login() -> None:
    """F-HTTP-15"""
    with pytest.raises(UsageError, match="proxy_auth is for HTTP proxies"):
        through(KerberosProxy(), "socks5", proxy_auth=Negotiate())
