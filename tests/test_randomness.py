"""Whatever must not be guessed comes from the operating system, all of it, each time anew.

F-AUTH-3, F-AUTH-7, F-WIRE-6, F-SHOW-10. Every use of randomness in the package stands in the table
below, with a function that draws from it as the library does. A use without a row fails, and so
does a value that is constant in part.
"""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable, cast

import pytest

from mcpclient import Manager
from mcpclient.auth.clients import RegisteredClient, authenticate
from mcpclient.auth.effects import RandomBytes
from mcpclient.auth.flow import Authorization
from mcpclient.auth.options import OAuth
from mcpclient.auth.signing import DpopProver, Es256Key
from mcpclient.bridging.rounds import Rounds
from mcpclient.cli import inspect as inspect_command
from mcpclient.cli.screen import Screen
from mcpclient.client.answers.task_answers import _ReceivedTask
from mcpclient.framing.headers import Headers
from mcpclient.framing.websocket import WebSocketHandshake, WebSocketProtocol
from mcpclient.inspector.inspector import inspect
from mcpclient.inspector.routes import Routes
from mcpclient.inspector.servers import Room
from mcpclient.net.guarded_fetch import GuardedFetcher
from mcpclient.net.local_http import LocalRequest
from mcpclient.net.login.authentication import FlowRunner
from mcpclient.net.login.storage import MemoryStore, _Security
from mcpclient.net.process.launch import launch
from mcpclient.sandbox.rights import Sandbox
from mcpclient.sessions.sockets import Place, listen
from mcpclient.transports.backoff import Retries
from tests.auth.world import (
    AuthorizationServerFake,
    ResourceServerFake,
    World,
    call_server,
    decode_jwt,
)
from tests.cli.test_inspect import work
from tests.tools.imports import read_sources
from tests.tools.randomness import uses_of_randomness

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parent.parent / "mcpclient"

KEY = Es256Key(1)


class RealWorld(World):
    """A world with the randomness that the library's own shell has."""

    def _random(self, effect: RandomBytes) -> bytes:
        return os.urandom(effect.count)


def unpadded(text: object) -> bytes:
    assert isinstance(text, str)
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def login() -> tuple[str, AuthorizationServerFake]:
    """The state of a whole login, and the server that has exchanged its authorization code."""
    world = RealWorld()
    issuer = AuthorizationServerFake(world)
    issuer.token_fields["token_type"] = "DPoP"
    server = ResourceServerFake(world, [issuer], scheme="DPoP")
    world.user = issuer.authorize
    call_server(world, Authorization(server.url, OAuth(dpop=True)), server)
    (visited,) = world.visited
    return visited.state, issuer


def state() -> bytes:
    return unpadded(login()[0])


def verifier() -> bytes:
    (form,) = login()[1].token_forms
    return unpadded(form["code_verifier"])


def assertion_id() -> bytes:
    form: list[tuple[str, str]] = []
    client = RegisteredClient("id", "https://auth.example", "private_key_jwt", signer=KEY)
    RealWorld().run(authenticate(client, form, {}))
    return unpadded(decode_jwt(dict(form)["client_assertion"])[1]["jti"])


def proof_id() -> bytes:
    proof = RealWorld().run(DpopProver(KEY).proof("POST", "https://mcp.example/mcp"))
    return unpadded(decode_jwt(proof)[1]["jti"])


def proof_key() -> bytes:
    (request,) = login()[1].token_requests
    header: Any = decode_jwt(request.headers["DPoP"])[0]
    return unpadded(header["jwk"]["x"])


def bytes_for_flows() -> bytes:
    async def main() -> bytes:
        runner = FlowRunner("https://mcp.example/mcp", MemoryStore(), GuardedFetcher())
        try:
            return await runner.run(iter(RandomBytes(16)))
        finally:
            await runner.close()

    return asyncio.run(main())


def task_id() -> bytes:
    return bytes.fromhex(_ReceivedTask(1.0).id)


def mask_key() -> bytes:
    return WebSocketProtocol().send_text(b"")[2:6]


def handshake_key() -> bytes:
    return base64.b64decode(dict(WebSocketHandshake().headers)["Sec-WebSocket-Key"])


def page_nonce() -> bytes:
    routes = Routes(cast(Room, None), "token", "call")
    answer = asyncio.run(routes.answer(LocalRequest("GET", "/", {}, Headers(), b"")))
    policy = answer.headers["Content-Security-Policy"]
    return bytes.fromhex(policy.partition("'nonce-")[2].partition("'")[0])


def page_token() -> bytes:
    async def main() -> str:
        async with inspect(Manager({})) as inspector:
            return inspector.url.partition("#t=")[2]

    return bytes.fromhex(asyncio.run(main()))


def session_token() -> bytes:
    with TemporaryDirectory() as folder:
        place = Place.of("it", {"LOCALAPPDATA": folder}, "win32")
        Path(place.folder).mkdir(mode=0o700, parents=True)
        listener, token = listen(place)
        listener.close()
    return bytes.fromhex(token)


def redirect_file() -> bytes:
    """The name of the file that leads a browser to the page, whose address holds a token."""
    names: list[str] = []

    async def open_browser(url: str, *, through: Path) -> bool:
        names.append(through.stem)
        raise asyncio.CancelledError

    screen = Screen(StringIO(), StringIO(), {})
    with pytest.MonkeyPatch.context() as patch, suppress(asyncio.CancelledError):
        patch.setattr(inspect_command, "open_browser", open_browser)
        asyncio.run(work(["http://127.0.0.1:1/"], screen))
    return bytes.fromhex(names[0])


def secret_pieces() -> bytes:
    written: dict[str, str] = {}

    class Keychain(_Security):
        async def _read_piece(self, name: str) -> str | None:
            return None

        async def _write_piece(self, name: str, secret: str) -> None:
            written[name] = secret

    asyncio.run(Keychain("security").write("name", "secret"))
    return bytes.fromhex(written["name"].partition(".")[0])


def retry_pause() -> float | None:
    return Retries().next_delay()


def sandbox_folder() -> bytes:
    """The name of a folder in one that every user can write to."""
    if sys.platform != "linux":
        pytest.skip("is a program of Linux")
    process = launch(["/bin/sh", "-c", "echo $TMPDIR"], {}, None, Sandbox(best_effort=True))
    output, _ = process.communicate(timeout=60)
    return bytes.fromhex(output.decode().strip().rpartition("-")[2])


def rounds_of_questions() -> tuple[bytes, bytes]:
    """The key of a question in a round, and the state that the host has to return."""

    async def main() -> dict[str, Any]:
        rounds = Rounds()
        asking = asyncio.ensure_future(rounds.ask("roots/list", {}))
        await asyncio.sleep(0)
        result = await rounds.call("tools/call", {}, cast(Any, asyncio.sleep(60)))
        await rounds.close()
        await asyncio.gather(asking, return_exceptions=True)
        return dict(result)

    result = asyncio.run(main())
    (key,) = result["inputRequests"]
    return bytes.fromhex(key), bytes.fromhex(result["requestState"])


def question_key() -> bytes:
    return rounds_of_questions()[0]


def round_state() -> bytes:
    return rounds_of_questions()[1]


Draw = Callable[[], Any]

# Where something is drawn, from what, and how to draw it as the library does: one for each time
# that the source is named there. A flow's `RandomBytes` is what `FlowRunner` answers it with.
SECRETS: Mapping[str, list[tuple[str, Draw]]] = {
    "auth.obtaining:by_code": [("RandomBytes", state), ("RandomBytes", verifier)],
    "auth.clients:_assertion": [("RandomBytes", assertion_id)],
    "auth.signing:DpopProver.proof": [("RandomBytes", proof_id)],
    "auth.flow:Authorization._the_prover": [("RandomBytes", proof_key)],
    "bridging.rounds:Rounds.ask": [("os.urandom", question_key)],
    "bridging.rounds:Rounds._hold": [("os.urandom", round_state)],
    "cli.inspect:_run": [("os.urandom", redirect_file)],
    "net.login.authentication:FlowRunner.__init__": [
        ("RandomBytes", bytes_for_flows),
        ("os.urandom", bytes_for_flows),
    ],
    "client.answers.task_answers:_ReceivedTask.__init__": [("os.urandom", task_id)],
    "framing.websocket:WebSocketProtocol.__init__": [("os.urandom", mask_key)],
    "framing.websocket:WebSocketHandshake.__init__": [("os.urandom", handshake_key)],
    "inspector.inspector:Inspector.__init__": [("os.urandom", page_token)],
    "inspector.routes:Routes._page": [("os.urandom", page_nonce)],
    "net.login.storage:_Security.write": [("secrets.token_hex", secret_pieces)],
    "sessions.sockets:listen": [("os.urandom", session_token)],
    "sandbox.launcher:_Keeper.__init__": [("os.urandom", sandbox_folder)],
}

# What only spreads clients over time may come from anywhere.
CHANCE: Mapping[str, list[tuple[str, Draw]]] = {
    "transports.backoff:Retries.next_delay": [("random.random", retry_pause)]
}

# Bytes that must vary: what a guesser would have to know (RFC 7636 section 7.1, RFC 6749 section
# 10.10), and for masks and keys what RFC 6455 sections 4.1 and 5.3 prescribe.
SIZES = {
    state: 32,
    verifier: 32,
    proof_key: 32,
    page_token: 24,
    session_token: 32,
    redirect_file: 8,
    question_key: 8,
    mask_key: 4,
    secret_pieces: 4,
    sandbox_folder: 12,
}

# The chance that a position of a random byte is the same in all of them is 256 to the minus 11.
DRAWS = 12


def test_every_use_of_randomness_has_a_proof() -> None:
    """A new one needs a row above, and secrets come from the operating system."""
    found = uses_of_randomness(read_sources(PACKAGE))
    table = {**SECRETS, **CHANCE}
    assert found == {place: [source for source, _ in rows] for place, rows in table.items()}


@pytest.mark.parametrize("draw", [draw for rows in SECRETS.values() for _, draw in rows])
def test_no_byte_of_a_secret_is_constant(draw: Draw) -> None:
    """Twelve draws differ from each other, and in each of their bytes."""
    size = SIZES.get(draw, 16)
    drawn = [draw() for _ in range(DRAWS)]
    assert {len(value) for value in drawn} == {size}
    assert len(set(drawn)) == DRAWS
    for position in range(size):
        assert len({value[position] for value in drawn}) > 1, f"byte {position} never changes"


@pytest.mark.parametrize("draw", [draw for rows in CHANCE.values() for _, draw in rows])
def test_no_two_delays_are_alike(draw: Draw) -> None:
    """F-MANY-5: the clients of a restarted server do not come back all at once."""
    assert len({draw() for _ in range(DRAWS)}) > DRAWS // 2


def test_every_frame_has_a_mask_of_its_own() -> None:
    """RFC 6455 section 5.3: also the masks of one connection, whatever they carry."""
    protocol = WebSocketProtocol()
    frames = [protocol.send_text(b""), protocol.send_binary(b""), protocol.send_ping()]
    frames.append(protocol.send_close())
    assert len({frame[2:6] for frame in frames}) == 4


SOURCE = """
import os, random as dice, uuid
from secrets import token_hex as fresh
from . import effects
from .effects import RandomBytes
from .other import random_name

def first():
    return os.urandom(4), os.path.join("a", "b"), random_name()

class Second:
    token: str = fresh()

    async def draw(self, source=dice.random):
        return uuid.uuid4(), (yield from effects.RandomBytes(4)), RandomBytes(2)
"""


def test_the_reader_sees_every_manner_of_use() -> None:
    """Under another name, as a default, in a class, in a coroutine, as an effect."""
    assert uses_of_randomness({"m": SOURCE}) == {
        "m:first": ["os.urandom"],
        "m:Second": ["secrets.token_hex"],
        "m:Second.draw": ["random.random", "uuid.uuid4", "RandomBytes", "RandomBytes"],
    }
