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
from mcpclient.errors import AuthError, ConnectFailed, HttpError, UsageError
from mcpclient.framing.headers import Headers
from mcpclient.framing.http1 import ResponseHead
from mcpclient.framing.uri import parse_url
from mcpclient.net import negotiate
from mcpclient.net.negotiate import NegotiateAuthorizer, challenge_in, context_maker
from mcpclient.net.proxies import Tunnel
from tests.net.certificates import Authority
from tests.net.mcp_over_http import McpOverHttp
from tests.net.peers import Proxy, join, serve
from tests.net.websocket_peer import TEXT, Peer, frame, websocket_server


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

    monkeypatch.setattr(negotiate, "context_maker", lambda: make)
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


def test_one_refusal_and_then_a_message_with_every_request(contexts: list[Context]) -> None:
    """F-HTTP-15: as Kerberos has it; each message serves once, each answer proves the server."""
    server = Kerberos()
    over_http(server)
    assert server.statuses.count(401) == 1
    assert server.statuses[0] == 401
    assert {made.host for made in contexts} == {"localhost"}
    assert all(made.given == [b"", b"proof"] and made.binding == b"" for made in contexts)


def test_a_login_of_two_messages_stays_on_its_connection(contexts: list[Context]) -> None:
    """F-HTTP-15: as NTLM has it; the connection then needs no other."""
    Context.messages, Context.is_ntlm = 2, True
    server = Kerberos(messages=2, proof=b"")
    over_http(server, Negotiate(mutual=False))
    assert server.statuses.count(401) == 2 * len(contexts)
    assert all(made.given == [b"", b"go on"] for made in contexts)


@pytest.mark.parametrize("proof", [b"", b"wrong"])
def test_a_server_that_does_not_prove_its_identity(proof: bytes) -> None:
    """F-HTTP-15: its answer is not read; without a proof, only where the caller says so."""
    with pytest.raises(AuthError, match=r"has not proved its identity|a wrong proof"):
        over_http(Kerberos(proof=proof))
    if not proof:
        over_http(Kerberos(proof=proof), Negotiate(mutual=False))


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


async def test_a_refused_user(contexts: list[Context]) -> None:
    """F-HTTP-15: the refusal is the error, after one login, or two where the first was early."""

    async def refusing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            await reader.readexactly(int(head.split("content-length: ")[1].split("\r")[0]))
            challenge = b"WWW-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n"
            writer.write(b"HTTP/1.1 401 No\r\n" + challenge)

    async with serve(refusing) as port:
        with pytest.raises(HttpError, match="401"):
            await calls(f"http://localhost:{port}/mcp", auth=Negotiate())
    assert len(contexts) == 1


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
        ("Negotiate YWJjY", None),  # which is not Base64
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
        monkeypatch.setattr(negotiate, library, lambda: "library")
    assert type(REAL_MAKER(platform)("h", b"")).__name__ == name


REAL_MAKER = context_maker


def test_without_a_library_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-HTTP-15: the error comes before a connection."""

    def missing() -> None:
        raise UsageError("Negotiate needs the GSSAPI of this system")

    monkeypatch.setattr(negotiate, "context_maker", missing)
    server = Kerberos()
    with pytest.raises(UsageError, match="needs the GSSAPI"):
        over_http(server)
    assert server.heads == []


async def test_a_message_serves_once(contexts: list[Context]) -> None:
    """F-HTTP-15: a request that is sent again, as after a redirect, has one of its own."""
    owner = NegotiateAuthorizer(Negotiate(), "https://h/mcp")
    owner.is_eager = True
    request = owner.request("GET", "https://h/mcp")
    await request.headers()
    await request.headers("https://h/other")
    assert len(contexts) == 2


@pytest.mark.parametrize("proof", [b"proof", b"wrong", b""])
async def test_the_server_of_a_websocket_proves_its_identity(proof: bytes) -> None:
    """F-HTTP-15: before any of its messages counts."""
    requests: list[str] = []

    async def script(peer: Peer) -> None:
        if not requests:
            await peer.read_request()
            challenge = b"WWW-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n"
            peer.writer.write(b"HTTP/1.1 401 No\r\n" + challenge)
        else:
            fields = [f"WWW-Authenticate: {encoded(proof)}"] if proof else []
            await peer.accept("Sec-WebSocket-Protocol: mcp", *fields, then=frame(TEXT, b"{}"))
            await peer.receive()
        requests.append(peer.request)

    async with websocket_server(script) as url:
        with pytest.raises(AuthError if proof != b"proof" else mcpclient.ConnectionLost):
            await mcpclient.connect(url, auth=Negotiate())


# Proxies


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


@pytest.mark.parametrize("messages", [1, 2])
def test_a_login_at_a_proxy(contexts: list[Context], messages: int) -> None:
    """F-HTTP-15: from the first request on; plain http goes through a tunnel too."""
    Context.messages = messages
    proxy = KerberosProxy(messages)
    through(proxy, proxy_auth=Negotiate())
    assert {line.split(" ")[0] for line in proxy.requests} == {"CONNECT"}
    assert len(proxy.given) == messages * len(contexts)
    assert {made.host for made in contexts} == {"localhost"}


class Wire(asyncio.Transport):
    """Keeps what is written."""

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
    assert not tunnel._established.done()
    tunnel.data_received(b"ge")
    assert encoded(b"message 2").encode() in await wire.written.get()
    tunnel.data_received(b"HTTP/1.1 200 OK\r\n\r\n")
    await establishing


def test_a_proxy_may_prove_its_identity(contexts: list[Context]) -> None:
    """F-HTTP-15: it need not, but a wrong proof is an error."""
    through(KerberosProxy(proof=b"proof"), proxy_auth=Negotiate())
    assert contexts[0].given == [b"", b"proof"]
    with pytest.raises(AuthError, match="a wrong proof"):
        through(KerberosProxy(proof=b"wrong"), proxy_auth=Negotiate())


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
