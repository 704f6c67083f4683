"""From tools to a language model and back: plain dicts for five APIs, without any of their SDKs."""
