"""Which names say that their value is a secret, and which texts are one whatever they are called.

What has neither such a name nor such a shape cannot be known for a secret.
"""

from __future__ import annotations

import re
from functools import lru_cache

# Anything else is a text that stands where a name does.
_NAME = re.compile(r"[\w .@:$\[\]-]{1,100}")
# Names are compared by words: `apiKey`, `API_KEY`, `api-key` and `ApiKey` are one.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")

_SECRET = re.compile(
    r"pass(?:word|wd|phrase|code)|secret|token|credential|authorization|assertion|cookie|signature"
    r"|(?:access|account|api|auth|encryption|function|host|license|master|private|secret|service"
    r"|shared|signing|ssh|subscription)_?key"
    r"|(?:access|activation|auth|backup|device|one_time|pairing|recovery|security|user"
    r"|verification)_?code"
    r"|code_?verifier|connection_string|conn_str|uri_complete$"
    r"|(?:^|_)(?:auth|bearer|creds?|csrf|cvc|cvv|dsn|jwt|mfa|otp|pass|pat|pin|psk|pw|pwd|ssn|totp"
    r"|xsrf)s?(?:_|$)"
)
# What says something about a secret, or only sounds like one: words of the protocol and of OAuth.
_PUBLIC = re.compile(
    r"^(?:progress_token|max_tokens)$|_(?:alg|at|budget|count|description|enabled|endpoint|expiry"
    r"|expires|format|hint|in|label|length|limit|methods?|mode|name|parameters?|policy|provider"
    r"|realm|required|scheme|servers?|status|strategy|supported|title|types?|ur[il]s?|usage)$"
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
    """Whether what has this name is a secret: a member of JSON, a variable, an option, a field."""
    if not _NAME.fullmatch(name):
        return False
    words = _words(name)
    return _SECRET.search(words) is not None and _PUBLIC.search(words) is None


def is_count_name(name: str) -> bool:
    """Whether a number of this name counts the tokens of a language model."""
    return _COUNT.search(_words(name)) is not None


def _words(name: str) -> str:
    return "_".join(_WORD.findall(name)).lower()
