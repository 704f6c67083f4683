"""The guide: chapters in Markdown that travel with the folder, for places without a network.

They are package data, read through the loader of this module, so that an editor shows them as what
they are, and a zip archive or a vendored copy has them as well. The tests run their examples.
"""

from __future__ import annotations

from pkgutil import get_data

__all__ = ["CHAPTERS", "chapter"]

CHAPTERS = {
    "authentication": "tokens, logins, secrets, and what to do when they are refused",
    "servers": "many servers: configuration files, the manager, approval, names",
    "models": "tools for language models: five APIs, an agent loop, limits, sampling",
    "blocking": "the same without asyncio: scripts, notebooks, web frameworks, threads",
    "testing": "testing your own server: in memory, cassettes, snapshots",
    "subscriptions": "what changes at a server; tasks, skills, caching, output schemas",
    "transports": "how servers are reached; TLS, proxies; a transport of your own",
    "recording": "record a session, and replay it without the server",
    "security": "what a server can do to you, and what it cannot",
    "performance": "what things cost, and every limit with its default",
    "coming-from": "from the official SDK (mcp) or fastmcp",
    "errors": "exceptions and exit codes; `help errors CODE` or `NAME` explains one",
}
"""The names of the chapters, in the order of reading, and what each is about."""


def chapter(name: str) -> str:
    """Return the text of a chapter, in Markdown."""
    text = get_data(__name__, f"{name}.md")
    assert text is not None, "every loader of files and archives has data"
    return text.decode()
