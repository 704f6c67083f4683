"""The model APIs by name."""

from __future__ import annotations

from mcpclient.adapters import google
from mcpclient.adapters.providers import PROVIDERS, provider_of


def test_by_name_or_by_itself() -> None:
    """F-TOOL-7: one of your own has the same functions."""
    assert provider_of("google") is google
    assert provider_of(google) is google
    assert set(PROVIDERS) == {"anthropic", "openai_chat", "openai_responses", "google", "bedrock"}
