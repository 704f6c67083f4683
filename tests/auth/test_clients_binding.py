"""The authorization server that gets credentials, when each of many servers names its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcpclient.auth.clients import bind, bound, check_binding, unbind
from mcpclient.auth.effects import Callback, Flow
from mcpclient.auth.flow import Authorization
from mcpclient.auth.options import (
    ClientCredentials,
    Endpoints,
    EnterpriseManaged,
    IdentityProvider,
    OAuth,
    OAuthOptions,
    WorkloadIdentity,
)
from mcpclient.auth.signing import Es256Key
from mcpclient.errors import AuthError, RegistrationRequired, UsageError
from tests.support.tables import each_row

from .world import AuthorizationServerFake, ResourceServerFake, World, call_server, json_response

KEY = Es256Key.from_random(b"b" * 48)
PROVIDER = IdentityProvider("https://idp.example/token", client_id="i", identity_assertion="a")
ISSUERS = ("https://one.example", "https://two.example")

SECRETS: dict[str, OAuthOptions] = {
    "secret": ClientCredentials(client_id="c", client_secret="s", trust_first_issuer=True),
    "signer": ClientCredentials(client_id="c", signer=KEY, trust_first_issuer=True),
    "user": OAuth(client_id="c", client_secret="s", trust_first_issuer=True),
    "workload": WorkloadIdentity(assertion="a", trust_first_issuer=True),
    "enterprise": EnterpriseManaged(
        client_id="c", identity_provider=PROVIDER, trust_first_issuer=True
    ),
}


class Two:
    """Two MCP servers, each with an authorization server of its own, and one store."""

    def __init__(self) -> None:
        self.world = World()
        self.issuers = [AuthorizationServerFake(self.world, issuer=issuer) for issuer in ISSUERS]
        self.servers = [
            ResourceServerFake(self.world, [issuer], url=f"https://{name}.example/mcp")
            for name, issuer in zip(("a", "b"), self.issuers)
        ]
        self.world.user = self.issuers[0].authorize
        jag = {"access_token": "jag", "token_type": "N_A"}
        self.world.on("POST", "https://idp.example/token", json_response(jag))

    def call(self, number: int, options: OAuthOptions) -> int:
        server = self.servers[number]
        return call_server(self.world, Authorization(server.url, options), server).status

    def begin(self, options: OAuthOptions) -> tuple[Authorization, Callback]:
        """A login at the first server that is not finished, and the callback of its user."""
        begun = Authorization(self.servers[0].url, options)
        self.world.user = self.world.no_user
        with pytest.raises(AuthError):
            self.world.run(begun.log_in())
        return begun, self.issuers[0].authorize(self.world.visited[-1])

    def log_out(self, number: int, options: OAuthOptions) -> None:
        self.world.run(Authorization(self.servers[number].url, options).log_out())


@each_row(
    "make",
    [
        lambda **more: ClientCredentials(client_id="c", client_secret="s", **more),
        lambda **more: ClientCredentials(client_id="c", signer=KEY, **more),
        lambda **more: OAuth(client_id="c", client_secret="s", **more),
        lambda **more: OAuth(client_id="c", signer=KEY, **more),
        lambda **more: WorkloadIdentity(assertion="a", **more),
        lambda **more: EnterpriseManaged(client_id="c", identity_provider=PROVIDER, **more),
    ],
)
def test_it_has_to_be_said_who_gets_a_secret(make: object) -> None:
    """F-AUTH-2: before anything is sent; the message names the three ways, and each one works."""
    assert callable(make)
    with pytest.raises(UsageError, match=r"issuer=.*endpoints=.*trust_first_issuer=True"):
        make()
    make(issuer=ISSUERS[0])
    make(endpoints=Endpoints("https://one.example/token"))
    make(trust_first_issuer=True)


@each_row("options", SECRETS.values())
def test_a_second_server_does_not_get_the_secret_for_another_issuer(options: OAuthOptions) -> None:
    """F-AUTH-2: bound by credential, whichever server names the issuer; and it can be undone."""
    two = Two()
    assert two.call(0, options) == 200
    with pytest.raises(RegistrationRequired, match=r"trusted first for https://a\.example/mcp"):
        two.call(1, options)
    assert not two.issuers[1].token_requests
    assert not any("two.example" in url for url in two.world.urls("POST") if "token" in url)
    two.log_out(0, options)
    two.world.user = two.issuers[1].authorize
    assert two.call(1, options) == 200


def test_the_token_of_a_workload_does_not_follow_a_move() -> None:
    """F-AUTH-2: the same server names another issuer, with a new assertion at hand."""
    two = Two()
    options = WorkloadIdentity(assertion=lambda: "fresh", trust_first_issuer=True)
    assert two.call(0, options) == 200
    two.servers[0].servers = [two.issuers[1]]
    with pytest.raises(RegistrationRequired):
        two.call(0, options)
    assert not two.issuers[1].token_requests


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "2025-03-26"])
def test_nobody_else_says_where_the_named_issuer_takes_secrets(listed: bool) -> None:
    """F-AUTH-2: metadata under the MCP server's own origin that claims to be the issuer's."""
    two = Two()
    evil = AuthorizationServerFake(two.world, issuer="https://b.example")
    evil.document["issuer"] = ISSUERS[0]
    if listed:
        two.servers[1].servers = [evil]
    else:
        two.servers[1].names_metadata = False
        del two.world.handlers["GET", str(two.servers[1].metadata_url)]
    for options in (
        ClientCredentials(client_id="c", client_secret="s", issuer=ISSUERS[0]),
        ClientCredentials(client_id="c", signer=KEY, issuer=ISSUERS[0]),
        WorkloadIdentity(assertion="a", issuer=ISSUERS[0]),
    ):
        two.world.run(Authorization(two.servers[1].url, options).log_in())
    assert not evil.token_requests
    assert len(two.issuers[0].token_requests) == 3
    del two.world.handlers["GET", str(two.issuers[0].metadata_url)]
    with pytest.raises(AuthError, match="endpoints="):
        two.world.run(Authorization(two.servers[1].url, options).log_in())
    assert not evil.token_requests


def test_a_stored_grant_of_other_endpoints_is_not_refreshed_with_the_secret() -> None:
    """F-AUTH-2: endpoints= says where secrets go, for records stored before as well."""
    two = Two()
    assert two.call(0, SECRETS["secret"]) == 200
    named = ClientCredentials(
        client_id="c", client_secret="s", endpoints=Endpoints("https://two.example/token")
    )
    url = two.servers[0].url
    assert two.world.run(Authorization(url, named).stored_grant()) is None
    assert two.world.run(Authorization(url, SECRETS["secret"]).stored_grant()) is not None
    same = replace(named, endpoints=Endpoints("https://one.example/token"))
    assert two.world.run(Authorization(url, same).stored_grant()) is not None


def test_a_login_that_was_begun_elsewhere_is_not_finished_with_a_secret() -> None:
    """F-AUTH-2: between the two steps, the user has named another issuer."""
    two = Two()
    _, callback = two.begin(SECRETS["user"])
    options = OAuth(client_id="c", client_secret="s", issuer=ISSUERS[1])
    with pytest.raises(AuthError, match="log in again"):
        two.world.run(Authorization(two.servers[0].url, options).finish(callback))
    assert not two.issuers[0].token_requests


def test_a_login_is_not_finished_with_a_secret_that_was_trusted_elsewhere_meanwhile() -> None:
    """F-AUTH-2: between the two steps, another server's issuer has taken the same secret."""
    two = Two()
    options = SECRETS["user"]
    begun, callback = two.begin(options)
    two.world.user = two.issuers[1].authorize
    assert two.call(1, options) == 200
    with pytest.raises(RegistrationRequired, match=r"trusted first for https://b\.example/mcp"):
        two.world.run(begun.finish(callback))
    assert not two.issuers[0].token_requests


def test_clients_without_a_secret_are_bound_server_by_server() -> None:
    """F-AUTH-2: keyed by issuer; a named issuer needs no memory, a new client_id a new one."""
    world = World()
    first, second = ISSUERS
    options = OAuth(client_id="known")
    world.run(bind(options, "server", first))
    world.run(bind(options, "server", first))
    with pytest.raises(RegistrationRequired):
        world.run(check_binding(options, "server", second))
    world.run(check_binding(options, "another server", second))
    world.run(check_binding(OAuth(client_id="known", issuer=second), "server", second))
    world.run(check_binding(OAuth(), "server", second))
    world.run(check_binding(OAuth(client_id="other"), "server", second))
    world.run(bind(OAuth(), "third", second))
    world.run(unbind(options, "server"))
    assert world.store == {}


def test_of_two_first_times_at_once_one_comes_second() -> None:
    """F-AUTH-2: what was bound while it waited for the lock counts."""
    world = World()
    options = SECRETS["secret"]

    def another_is_faster() -> None:
        world.before_lock = lambda: None
        world.run(bind(options, "one", ISSUERS[0]))

    def flow() -> Flow[None]:
        raise AssertionError("the secret was shown")
        yield

    world.before_lock = another_is_faster
    with pytest.raises(RegistrationRequired):
        world.run(bound(options, "two", ISSUERS[1], flow()))


def test_no_secret_is_in_the_store() -> None:
    """F-AUTH-12: only whose credential it is."""
    two = Two()
    options = ClientCredentials(client_id="c", client_secret="SECRET", trust_first_issuer=True)
    assert two.call(0, options) == 200
    assert "SECRET" not in str(two.world.store)
