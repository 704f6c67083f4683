"""Tools and calls as plain dicts for five model APIs, without any of their SDKs."""
