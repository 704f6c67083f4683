"""Finding the authorization server: RFC 9728, then RFC 8414 and OpenID Connect Discovery.

The order follows the MCP authorization specification; the fallbacks of revision 2025-03-26
follow. Metadata is checked field by field: its author is not trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, NoReturn, TypeVar, cast
from urllib.parse import urlsplit

from ..display import shown_url
from ..errors import AuthError
from .effects import Flow, StoredItem, get_document, parse_object, value_for
from .options import ServerTrust
from .url_guard import UrlPolicy, assert_safe_url, origin_of, resolve, without_query


@dataclass(frozen=True)
class _Metadata:
    """Metadata of a server, as far as a client needs it. A list is None when it is not stated."""

    @classmethod
    def parse(cls: type[M], document: Mapping[str, object]) -> M:
        """Read a document. Raises AuthError when a field is missing or has the wrong type."""
        values = {each.name: value_for(each, document) for each in fields(cls)}
        for name, value in values.items():
            if value in (None, "") and document.get(name) is not None:
                raise AuthError(f"the metadata field {name} is empty, or of the wrong type")
        missing = [each.name for each in fields(cls) if each.default is MISSING]
        missing = [name for name in missing if not values[name]]
        if missing:
            raise AuthError(f"the server's metadata names no {' and no '.join(missing)}")
        return cls(**cast("Mapping[str, Any]", values))


M = TypeVar("M", bound=_Metadata)


@dataclass(frozen=True)
class ProtectedResource(_Metadata):
    """Protected resource metadata (RFC 9728 section 2)."""

    resource: str
    authorization_servers: tuple[str, ...]
    scopes_supported: tuple[str, ...] | None = None
    dpop_bound_access_tokens_required: bool = False


@dataclass(frozen=True)
class AuthorizationServer(_Metadata):
    """Authorization server metadata (RFC 8414 section 2)."""

    issuer: str
    token_endpoint: str
    authorization_endpoint: str | None = None
    registration_endpoint: str | None = None
    device_authorization_endpoint: str | None = None
    revocation_endpoint: str | None = None
    scopes_supported: tuple[str, ...] | None = None
    code_challenge_methods_supported: tuple[str, ...] | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] | None = None
    client_id_metadata_document_supported: bool = False
    authorization_response_iss_parameter_supported: bool = False


@dataclass(frozen=True)
class Discovery:
    """The authorization server of an MCP server.

    ``resource``: the MCP server's own metadata; None when it publishes none.
    ``resource_metadata_url``: the URL of the metadata in the challenge; None when it named none.
    """

    server: AuthorizationServer
    resource: ProtectedResource | None
    resource_metadata_url: str | None = None


def protected_resource_urls(server_url: str) -> list[str]:
    """Return the URLs of metadata about ``server_url``, in the order to ask (RFC 9728, 3.1)."""
    site, path = _site_and_path(server_url)
    root = f"{site}/.well-known/oauth-protected-resource"
    return [root + path, root] if path else [root]


def authorization_server_urls(issuer: str) -> list[str]:
    """Return the URLs of metadata of ``issuer``, in the order to ask (RFC 8414, 3.1 and 5)."""
    site, path = _site_and_path(issuer)
    urls = [
        f"{site}/.well-known/oauth-authorization-server{path}",
        f"{site}/.well-known/openid-configuration{path}",
    ]
    if path:
        urls.append(f"{site}{path}/.well-known/openid-configuration")
    return urls


def _site_and_path(url: str) -> tuple[str, str]:
    """Return scheme and authority as they are written, and the path without a last slash."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")


def speaks_for(resource: str, metadata_url: str, server_url: str) -> bool:
    """Whether metadata found at ``metadata_url``, for ``resource``, may speak for ``server_url``.

    ``resource`` must be the server itself (RFC 9728 section 3.3). Many servers name a parent, which
    counts only at the parent's own well-known URL: the owner of one path of a host must not get
    tokens for the whole host. A query must match the server's. Raises `SsrfError` for an invalid
    URL.
    """
    if origin_of(resource) != origin_of(server_url):
        return False
    named, actual = urlsplit(resource), urlsplit(server_url)
    path = named.path.rstrip("/")
    if (path, named.query, named.fragment) == (actual.path.rstrip("/"), actual.query, ""):
        return True
    if named.query or named.fragment or not f"{actual.path}/".startswith(f"{path}/"):
        return False
    own, found = urlsplit(protected_resource_urls(resource)[0]), urlsplit(metadata_url)
    return origin_of(metadata_url) == origin_of(resource) and found.path == own.path


def discover(
    server_url: str,
    trust: ServerTrust,
    policy: UrlPolicy,
    *,
    resource_metadata_url: str | None,
    protocol_version: str | None = None,
) -> Flow[Discovery]:
    """Find the authorization server of ``server_url``.

    ``trust``: the only issuer to accept, or endpoints, with which no metadata is fetched.
    ``resource_metadata_url``: from the challenge. ``protocol_version`` is sent with every
    request. Raises AuthError when there is no usable metadata, SsrfError for unsafe URLs.
    """
    endpoints = trust.endpoints
    if endpoints is not None:
        issuer = trust.issuer or _site_and_path(endpoints.token_endpoint)[0]
        # A user who names the endpoints vouches for PKCE, since there is no metadata to state it.
        pkce = ("S256",)
        server = AuthorizationServer(
            issuer, **vars(endpoints), code_challenge_methods_supported=pkce
        )
        return Discovery(server, None)
    headers = {"MCP-Protocol-Version": protocol_version} if protocol_version else {}
    finder = _Finder(server_url, trust, policy, headers)
    resource = yield from finder.protected_resource(resource_metadata_url)
    if resource is None:
        server = yield from finder.legacy_server()
    else:
        server = yield from finder.listed_server(resource)
    for endpoint in (
        server.authorization_endpoint,
        server.token_endpoint,
        server.registration_endpoint,
        server.device_authorization_endpoint,
    ):
        if endpoint is not None:
            assert_safe_url(endpoint, server.issuer, policy)
    return Discovery(server, resource, resource_metadata_url)


@dataclass(frozen=True)
class _Finder:
    server_url: str
    trust: ServerTrust
    policy: UrlPolicy
    headers: dict[str, str]
    unread: list[str] = field(default_factory=list)
    """A description of each response that was not metadata."""

    def protected_resource(self, named_url: str | None) -> Flow[ProtectedResource | None]:
        if named_url is not None:
            # A relative reference violates the grammar, but has only one possible meaning.
            urls = [resolve(self.server_url, named_url)]
        else:
            urls = protected_resource_urls(self.server_url)
        foreign: list[str] = []

        def read(url: str, document: StoredItem) -> ProtectedResource | None:
            found = ProtectedResource.parse(document)
            named = found.resource
            ours = named == self.trust.resource or speaks_for(named, url, self.server_url)
            if not ours:
                foreign.append(named)
            return found if ours else None

        found = yield from self._first(urls, self.server_url, read)
        if found is not None:
            return found
        if foreign:
            named, ours = shown_url(foreign[0]), shown_url(self.server_url)
            if named == ours:  # a query is not shown: it may hold a key
                named += " with another query or key"
            raise AuthError(
                f"the resource metadata is for {named}, not for {ours}; "
                "if that is right, name it as resource="
            )
        if named_url is not None:
            raise AuthError(f"there is no resource metadata: {self.unread[-1]}")
        return None

    def listed_server(self, resource: ProtectedResource) -> Flow[AuthorizationServer]:
        listed = resource.authorization_servers
        chosen = next((issuer for issuer in listed if issuer == self.trust.issuer), listed[0])
        assert_safe_url(chosen, None, self.policy)
        return (yield from self._server(chosen, {chosen})) or self._no_metadata(chosen)

    def legacy_server(self) -> Flow[AuthorizationServer]:
        # Revision 2025-03-26: the server's own origin is the authorization server.
        origin, _ = _site_and_path(self.server_url)
        wanted, server = self.trust.issuer, None
        if wanted is not None:
            server = yield from self._server(wanted, {wanted})
        # The issuer is a guess here, and with or without a slash it has the same metadata URL.
        server = server or (yield from self._server(origin, {origin, f"{origin}/"}))
        if server is not None:
            return server
        if wanted is not None:
            return self._no_metadata(wanted)
        return AuthorizationServer(
            issuer=origin,
            authorization_endpoint=f"{origin}/authorize",
            token_endpoint=f"{origin}/token",
            registration_endpoint=f"{origin}/register",
            # That revision requires PKCE of all servers and has no metadata field for it.
            code_challenge_methods_supported=("S256",),
        )

    def _server(self, place: str, spellings: set[str]) -> Flow[AuthorizationServer | None]:
        """Return the server whose metadata is at the well-known URLs of the issuer ``place``."""
        urls, wanted = authorization_server_urls(place), self.trust.issuer
        server = yield from self._first(
            urls, None, lambda _, found: AuthorizationServer.parse(found)
        )
        if server is None:
            return None
        # Exact comparison, as RFC 8414 section 3.3 demands; or the issuer the user vouched for.
        if server.issuer == wanted:
            if place == wanted or not self.trust.holds_secret:
                return server
            # Nothing but the issuer's own metadata may say where a secret for it goes.
            own = yield from self._server(server.issuer, {server.issuer})
            return own or self._no_metadata(server.issuer)
        if server.issuer not in spellings:
            raise AuthError(
                f"the metadata of the issuer {without_query(place)} names another issuer, "
                f"{without_query(server.issuer)}; if you trust that one, name it as issuer=, or "
                "name its endpoints="
            )
        if wanted is not None:
            raise AuthError(
                f"the server's authorization server is {without_query(place)}, "
                f"not {without_query(wanted)} as configured"
            )
        return server

    def _first(
        self, urls: list[str], issuer_url: str | None, read: Callable[[str, StoredItem], M | None]
    ) -> Flow[M | None]:
        failure = None
        for url in urls:
            response = yield from get_document(url, issuer_url, self.policy, self.headers)
            found = ""
            if response.status == 200:
                # A web application may answer every path with a page, which is not metadata.
                document = parse_object(response.body)
                if document is None:
                    found = ", but not with a JSON object"
                else:
                    metadata = read(url, document)
                    if metadata is not None:
                        return metadata
                    found = ", but with metadata of another resource or issuer"
            unread = f"{shown_url(url)} answered with HTTP {response.status}{found}"
            self.unread.append(unread)
            if response.status >= 500 or response.status == 429:
                failure = AuthError(unread)
        # A server that fails must not look like one without metadata.
        if failure is not None:
            raise failure
        return None

    def _no_metadata(self, issuer: str) -> NoReturn:
        raise AuthError(
            f"the authorization server {without_query(issuer)} has no metadata: "
            f"{self.unread[-1]}; if you know its endpoints, name them as endpoints="
        )
