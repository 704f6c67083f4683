"""Secrets: names that mark one, and strings with the shape of one."""

from __future__ import annotations

import re
from functools import lru_cache

# Anything else is not a name.
_NAME = re.compile(r"[\w .@:$\[\]-]{1,100}")
# Names are compared by words: `apiKey`, `API_KEY`, `api-key` and `ApiKey` are one.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")

_SECRET_NAME = re.compile(
    r"pass(?:word|wd|phrase|code)|secret|token|credential|authorization|assertion|cookie|signature"
    r"|(?:access|account|api|auth|encryption|function|host|license|master|private|secret|service"
    r"|shared|signing|ssh|subscription)_?key"
    r"|(?:access|activation|auth|backup|device|one_time|pairing|recovery|security|user"
    r"|verification)_?code"
    r"|code_?verifier|connection_string|conn_str|uri_complete$"
    r"|(?:^|_)(?:auth|bearer|creds?|csrf|cvc|cvv|dsn|jwt|mfa|otp|pass|pat|pin|psk|pw|pwd|ssn|totp"
    r"|xsrf)s?(?:_|$)"
)
# Names about a secret that are not secrets: words of the protocol and of OAuth.
_PUBLIC_NAME = re.compile(
    r"^(?:progress_token|max_tokens)$|_(?:alg|at|budget|count|description|enabled|endpoint|expiry"
    r"|expires|format|hint|in|label|length|limit|methods?|mode|name|parameters?|policy|provider"
    r"|realm|required|scheme|servers?|status|strategy|supported|title|types?|ur[il]s?|usage)$"
)
_SECRET_ITSELF = re.compile(
    r"(?:password|passwd|passphrase|passcode|secret|token|authorization|assertion|cookie|signature"
    r"|key|code|verifier|(?:^|_)(?:pass|pat|pin|psk|pwd?|otp|jwt|bearer))s?(?:_[0-9]+)?$"
)
_COUNT = re.compile(r"(?:^|_)tokens(?:_|$)")

# Tokens that services give a form of their own, and keys in PEM.
TOKEN = re.compile(
    r"\beyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*"
    r"|\b(?:gh[opsu]_|ghr_|github_pat_|glpat-|hf_|npm_|sk-|sk_live_|sk_test_|rk_live_|shpat_|whsec_"
    r"|xox[abeoprs]-|ya29\.|AIza|pypi-)[\w-]{16,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{1,10000}(?:-----END [A-Z ]{0,30}-----)?"
)


@lru_cache(maxsize=1024)  # the same names come again and again
def is_secret_name(name: str) -> bool:
    """Whether a value of this name is a secret: a JSON member, a variable, an option, a field."""
    if not _NAME.fullmatch(name):
        return False
    words = _words(name)
    return _SECRET_NAME.search(words) is not None and _PUBLIC_NAME.search(words) is None


def names_secret(name: str) -> bool:
    """Whether a value of this name is itself the secret, by the last word of the name.

    ``API_TOKEN`` is; ``TOKEN_COMMAND``, ``PRIVATE_KEY_PATH`` and ``X-Auth-Host`` are only about
    one, and may name a program, a file or a host.
    """
    return is_secret_name(name) and _SECRET_ITSELF.search(_words(name)) is not None


def is_count_name(name: str) -> bool:
    """Whether a number of this name counts the tokens of a language model."""
    return _COUNT.search(_words(name)) is not None


def _words(name: str) -> str:
    return "_".join(_WORD.findall(name)).lower()
