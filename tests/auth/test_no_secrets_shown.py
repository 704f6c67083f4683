"""Whole flows with recognizable secrets: none of them may be seen in a log."""

from __future__ import annotations

import dataclasses
import logging
import re
import traceback
from collections.abc import Callable, Iterator, Mapping

import pytest

import mcpclient
from mcpclient.auth.effects import Authorize, Callback, Fetch, Response
from mcpclient.auth.flow import Authorization
from mcpclient.auth.options import (
    ApiKey,
    BearerToken,
    ClientCredentials,
    EnterpriseManaged,
    IdentityProvider,
    OAuth,
    OAuthOptions,
    WorkloadIdentity,
)
from mcpclient.auth.signing import Es256Key
from mcpclient.auth.tokens import static_header
from mcpclient.errors import McpError

from .world import (
    TOKEN,
    AuthorizationServerFake,
    ResourceServerFake,
    World,
    call,
    form_of,
    json_response,
    unauthorized,
)

SERVER = "https://mcp.example/mcp?api_key=SECRET-query"
KEY = Es256Key.from_random(b"s" * 48)
# Whatever is secret is spelled so, and everything random is secret as well.
SECRET = re.compile(r"SECRET")


class Watched(World):
    """A world that keeps the representations a log, a trace or a debugger would show."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []
        self.random: list[str] = []
        device = "https://auth.example/device"
        self.issuer = AuthorizationServerFake(
            self,
            metadata={
                "device_authorization_endpoint": device,
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            },
            registration={"client_secret": "SECRET-registered"},
            token_fields={"access_token": "SECRET-access", "refresh_token": "SECRET-refresh"},
        )
        ResourceServerFake(self, [self.issuer])
        self.user = self._says_yes
        self.answer_token: Callable[[Fetch], Response] = self.handlers["POST", TOKEN]
        for url in (TOKEN, "https://idp.example/token"):
            self.on("POST", url, self._token)
        codes = {
            "device_code": "SECRET-device",
            "user_code": "SECRET-user",
            "verification_uri": "https://auth.example/d",
            "verification_uri_complete": "https://auth.example/d?c=SECRET-user",
        }
        self.on("POST", device, json_response(codes))

    def _token(self, request: Fetch) -> Response:
        form = form_of(request)
        self.random += [
            form[name] for name in ("code_verifier", "client_assertion") if name in form
        ]
        return self.answer_token(request)

    def _says_yes(self, request: Authorize) -> Callback:
        self.random.append(request.state)
        self.issuer.authorize(request)
        return Callback(code="SECRET-code", state=request.state, iss="https://auth.example")

    def _perform(self, effect: object) -> object:
        self.show(effect)
        answer = super()._perform(effect)
        if not isinstance(answer, (bytes, str, dict)):
            self.show(answer)
        return answer

    def show(self, thing: object) -> None:
        self.shown += [repr(thing), str(thing), f"{thing}"]

    def show_error(self, error: BaseException) -> None:
        self.show(error)
        self.shown += traceback.format_exception(type(error), error, error.__traceback__)

    def assert_nothing_secret(self) -> None:
        everything = "\n".join(self.shown)
        assert len(self.shown) > 10
        found = SECRET.search(everything)
        assert found is None, everything[found.start() - 200 : found.end() + 50]
        for value in self.random:
            assert value not in everything


def parts_of(thing: object, seen: set[int]) -> Iterator[object]:
    """Every dataclass and object of the package that can be reached from ``thing``."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if dataclasses.is_dataclass(thing) or type(thing).__module__.startswith(mcpclient.__name__):
        yield thing
        for value in vars(thing).values():
            yield from parts_of(value, seen)


PROVIDER = IdentityProvider(
    "https://idp.example/token",
    client_id="i",
    client_secret="SECRET-idp",
    identity_assertion="SECRET-assertion",
)
WAYS: list[OAuthOptions] = [
    OAuth(),
    OAuth(trust_first_issuer=True, client_id="id", client_secret="SECRET-configured"),
    OAuth(trust_first_issuer=True, client_id="id", signer=KEY),
    OAuth(dpop=True),
    OAuth(device=True),
    ClientCredentials(trust_first_issuer=True, client_id="id", client_secret="SECRET-configured"),
    ClientCredentials(trust_first_issuer=True, client_id="id", signer=KEY),
    EnterpriseManaged(
        trust_first_issuer=True,
        identity_provider=PROVIDER,
        client_id="id",
        client_secret="SECRET-c",
    ),
    WorkloadIdentity(trust_first_issuer=True, assertion="SECRET-workload"),
    WorkloadIdentity(trust_first_issuer=True, assertion=lambda: "SECRET-workload"),
]


def refuses(_: Fetch) -> Response:
    return json_response({"error": "invalid_grant"}, 400)


def echoes(request: Fetch) -> Response:
    """A server that repeats all it was sent."""
    words = " ".join(form_of(request).values())
    return json_response({"error": "invalid_grant", "error_description": words}, 400)


def talks_html(_: Fetch) -> Response:
    return Response(200, [], b"<html>SECRET-access</html>")


def breaks_the_header(_: Fetch) -> Response:
    return json_response({"access_token": "SECRET access\r\n"})


def use(world: Watched, options: OAuthOptions) -> None:
    """First use, a refused token, an expired one, a step-up, a log-out: all in a row."""
    world.issuer.token_fields["token_type"] = "DPoP" if options.dpop else "Bearer"
    authorization = Authorization(SERVER, options)
    answers = iter(
        [
            unauthorized("Bearer"),
            json_response({}),
            unauthorized("Bearer"),
            json_response({}),
            Response(
                403, [("WWW-Authenticate", 'Bearer error="insufficient_scope", scope="more"')], b""
            ),
            json_response({}),
        ]
    )

    def answer(headers: Mapping[str, str]) -> Response:
        return next(answers, json_response({}))

    try:
        for _ in range(3):
            call(world, authorization.request("POST", SERVER), answer)
        world.time += 10_000
        call(world, authorization.request("POST", SERVER), answer)
        for part in parts_of(authorization, set()):
            world.show(part)
        world.run(authorization.log_out())
    except McpError as error:
        world.show_error(error)
        raise
    finally:
        for part in parts_of(authorization, set()):
            world.show(part)


@pytest.mark.parametrize("options", WAYS, ids=repr)
def test_nothing_secret_is_shown_when_all_goes_well(
    options: OAuthOptions, caplog: pytest.LogCaptureFixture
) -> None:
    """F-AUTH-12: no effect, answer, object or log record of any flow."""
    world = Watched()
    with caplog.at_level(logging.DEBUG):
        use(world, options)
    world.shown.append(caplog.text)
    world.assert_nothing_secret()


@pytest.mark.parametrize("refusal", [refuses, echoes, talks_html, breaks_the_header])
@pytest.mark.parametrize("options", WAYS, ids=repr)
def test_nothing_secret_is_shown_when_the_server_refuses(
    options: OAuthOptions, refusal: Callable[[Fetch], Response], caplog: pytest.LogCaptureFixture
) -> None:
    """F-AUTH-12: nor in an exception, its text, its repr and its traceback."""
    world = Watched()
    world.answer_token = refusal
    with caplog.at_level(logging.DEBUG), pytest.raises(McpError):
        use(world, options)
    world.shown.append(caplog.text)
    world.assert_nothing_secret()


@pytest.mark.parametrize(
    "callback",
    [
        Callback(code="SECRET-code", state="SECRET-state"),
        Callback(code="SECRET-code"),
        Callback(error="access_denied", error_description="no", state="SECRET-state"),
    ],
)
def test_nothing_secret_is_shown_when_the_callback_is_wrong(callback: Callback) -> None:
    """F-AUTH-12: a code that came with a wrong state is still a code."""
    world = Watched()
    world.user = lambda request: callback
    with pytest.raises(McpError):
        use(world, OAuth())
    world.assert_nothing_secret()


@pytest.mark.parametrize(
    "options", [BearerToken("SECRET-t"), ApiKey("SECRET-k"), BearerToken("SECRET\n")], ids=repr
)
def test_nothing_secret_is_shown_of_tokens_from_elsewhere(options: BearerToken | ApiKey) -> None:
    """F-AUTH-12: also where the token cannot be used."""
    shown = [repr(options), str(options)]
    try:
        static_header(options, options.token if isinstance(options, BearerToken) else options.key)
    except McpError as error:
        shown += traceback.format_exception(type(error), error, error.__traceback__)
    assert not SECRET.search("".join(shown))


def test_the_search_finds_what_it_looks_for() -> None:
    """F-AUTH-12: the other tests of this file would notice."""
    world = Watched()
    use(world, OAuth())
    world.shown.append("SECRET-access")
    with pytest.raises(AssertionError):
        world.assert_nothing_secret()
