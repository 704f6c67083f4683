"""The two metadata documents, checked field by field: whoever wrote them is not trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from ..errors import AuthError
from .effects import StoredItem


def parse_object(body: bytes) -> Mapping[str, object] | None:
    """The JSON object in ``body``, or None when it is anything else."""
    try:
        document = json.loads(body.decode("utf-8-sig"))
        # A lone surrogate would only fail later, where the text is first sent somewhere.
        json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


@dataclass(frozen=True)
class ProtectedResource:
    """Protected resource metadata (RFC 9728 section 2), as far as a client needs it."""

    resource: str
    authorization_servers: tuple[str, ...]
    scopes_supported: tuple[str, ...] | None = None
    dpop_bound_access_tokens_required: bool = False

    @classmethod
    def parse(cls, document: Mapping[str, object]) -> ProtectedResource:
        """Read ``document``. Raises AuthError when a field is missing or has the wrong type."""
        resource = _text(document, "resource")
        servers = _texts(document, "authorization_servers")
        if resource is None or not servers:
            raise AuthError(
                "the protected resource metadata names no resource or no authorization server"
            )
        return cls(
            resource=resource,
            authorization_servers=servers,
            scopes_supported=_texts(document, "scopes_supported"),
            dpop_bound_access_tokens_required=_flag(document, "dpop_bound_access_tokens_required"),
        )


@dataclass(frozen=True)
class AuthorizationServer:
    """Authorization server metadata (RFC 8414 section 2), as far as a client needs it.

    Of the lists, None means that the server did not say.
    """

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

    @classmethod
    def parse(cls, document: Mapping[str, object]) -> AuthorizationServer:
        """Read ``document``. Raises AuthError when a field is missing or has the wrong type."""
        issuer = _text(document, "issuer")
        token_endpoint = _text(document, "token_endpoint")
        if issuer is None or token_endpoint is None:
            raise AuthError(
                "the authorization server's metadata names no issuer or no token_endpoint"
            )
        return cls(
            issuer=issuer,
            token_endpoint=token_endpoint,
            authorization_endpoint=_text(document, "authorization_endpoint"),
            registration_endpoint=_text(document, "registration_endpoint"),
            device_authorization_endpoint=_text(document, "device_authorization_endpoint"),
            revocation_endpoint=_text(document, "revocation_endpoint"),
            scopes_supported=_texts(document, "scopes_supported"),
            code_challenge_methods_supported=_texts(document, "code_challenge_methods_supported"),
            token_endpoint_auth_methods_supported=_texts(
                document, "token_endpoint_auth_methods_supported"
            ),
            client_id_metadata_document_supported=_flag(
                document, "client_id_metadata_document_supported"
            ),
            authorization_response_iss_parameter_supported=_flag(
                document, "authorization_response_iss_parameter_supported"
            ),
        )


def _text(document: StoredItem, name: str) -> str | None:
    value = document.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise AuthError(f"the metadata field {name} is not a string, or is empty")
    return value


def _texts(document: StoredItem, name: str) -> tuple[str, ...] | None:
    value = document.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise AuthError(f"the metadata field {name} is not a list of strings")
    return tuple(cast("list[str]", value))


def _flag(document: StoredItem, name: str) -> bool:
    return document.get(name) is True
