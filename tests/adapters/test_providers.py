"""The model APIs by name."""

from __future__ import annotations

import pytest

from mcpclient.adapters import google
from mcpclient.adapters.providers import PROVIDERS, provider_of
from mcpclient.errors import UsageError


def test_by_name_or_by_itself() -> None:
    """F-TOOL-7: one of your own has the same functions."""
    assert provider_of("google") is google
    assert provider_of(google) is google
    assert set(PROVIDERS) == {"anthropic", "openai_chat", "openai_responses", "google", "bedrock"}


def test_unknown_names() -> None:
    """F-TOOL-7."""
    with pytest.raises(UsageError, match="there are anthropic, openai_chat, openai_responses, goo"):
        provider_of("claude")
