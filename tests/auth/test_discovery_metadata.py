from __future__ import annotations

import pytest

from mcpclient.auth.discovery import AuthorizationServer, ProtectedResource
from mcpclient.auth.effects import parse_object
from mcpclient.errors import AuthError

RESOURCE = {"resource": "https://r.example", "authorization_servers": ["https://a.example"]}
SERVER = {"issuer": "https://a.example", "token_endpoint": "https://a.example/token"}


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"<html>", b"[]", b"7", b"\xff"),
        b"[" * 100_000,
        b'{"a": }',
        b"null",
        b'{"a": "\\ud800"}',
    ],
)
def test_what_is_no_object_is_none(body: bytes) -> None:
    """F-AUTH-1: whatever a server answers instead of metadata."""
    assert parse_object(body) is None


def test_a_bom_is_overlooked() -> None:
    """F-AUTH-1: some servers send one."""
    assert parse_object(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


def test_documents_are_read() -> None:
    """F-AUTH-1: the fields a client needs; unknown ones do no harm."""
    resource = ProtectedResource.parse(
        {**RESOURCE, "scopes_supported": ["a"], "dpop_bound_access_tokens_required": True, "x": {}}
    )
    assert resource.scopes_supported == ("a",)
    assert resource.dpop_bound_access_tokens_required
    server = AuthorizationServer.parse({**SERVER, "scopes_supported": None})
    assert server.scopes_supported is None
    assert not server.client_id_metadata_document_supported
    truthy = AuthorizationServer.parse({**SERVER, "client_id_metadata_document_supported": "yes"})
    assert not truthy.client_id_metadata_document_supported


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (ProtectedResource, {"resource": None}),
        (ProtectedResource, {"resource": 7}),
        (ProtectedResource, {"resource": ""}),
        (ProtectedResource, {"authorization_servers": []}),
        (ProtectedResource, {"authorization_servers": "https://a.example"}),
        (ProtectedResource, {"authorization_servers": [7]}),
        (ProtectedResource, {"scopes_supported": {"a": 1}}),
        (AuthorizationServer, {"issuer": None}),
        (AuthorizationServer, {"token_endpoint": None}),
        (AuthorizationServer, {"token_endpoint": ["https://a.example"]}),
        (AuthorizationServer, {"authorization_endpoint": 1}),
        (AuthorizationServer, {"code_challenge_methods_supported": "S256"}),
    ],
)
def test_bad_metadata_is_refused(
    kind: type[ProtectedResource | AuthorizationServer], change: dict[str, object]
) -> None:
    """F-AUTH-1: types are checked, since a hostile server chooses them."""
    document = {**RESOURCE, **SERVER}
    assert kind.parse(document)
    with pytest.raises(AuthError):
        kind.parse({**document, **change})
