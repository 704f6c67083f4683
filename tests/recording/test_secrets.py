"""The names of secrets, in every way that people write them: F-AUTH-12."""

from __future__ import annotations

from mcpclient.recording.secrets import TOKEN, is_count_name, is_secret_name
from tests.support.tables import each_row

SECRET = """
    password Password dbPassword DB_PASSWORD user-passwd passphrase passcode pwd Pwd pw pass PIN pin
    userPin otp totpCode jwt id_jwt auth Auth basic_auth token accessToken refresh_token
    X-Auth-Token secret clientSecret credential creds cookie apiKey api_key APIKEY x-api-key
    private_key signingKey auth_code one-time-code device_code userCode recovery_codes csrf
    connectionString bearer ssn cvv pat mfa signature client_assertion code_verifier tokens
    verification_uri_complete Ocp-Apim-Subscription-Key token_id
"""
ORDINARY = """
    progressToken maxTokens max_tokens token_endpoint tokenType token_type_hint
    authorization_servers
    token_endpoint_auth_methods_supported author authors pinned spin opinion compass passenger key
    keys name code id token_count tokenLimit passwordRequired authEnabled auth_type secretName
    cookie_policy
    expires_in path pattern dispatch bypass
"""


@each_row("name", SECRET.split())
def test_secrets(name: str) -> None:
    """F-AUTH-12"""
    assert is_secret_name(name)


@each_row("name", [*ORDINARY.split(), "", "a/token", "x" * 200])
def test_others(name: str) -> None:
    assert not is_secret_name(name)


def test_counts() -> None:
    assert is_count_name("input_tokens") and is_count_name("tokensUsed")
    assert not is_count_name("token")


@each_row("text", ["sk-short", "eyJhbGci", "risk-assessment-of-everything", "ghp_"])
def test_what_only_begins_like_a_token(text: str) -> None:
    assert not TOKEN.search(text)
