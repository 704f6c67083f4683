"""The offer of each of our servers; the SDKs agree on how it is registered."""

# The SDKs read the annotations of these functions at run time, on Python 3.10 and newer.

import os
import sys
from typing import Any, TypedDict

from mcp.types import ImageContent

NAME = "conformance"
TRANSPORTS = ("stdio", "http", "http-stateless", "http-json", "sse")

# A red dot, as small as a PNG can be.
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJg"
    "gg=="
)


class Sum(TypedDict):
    total: int


def echo(text: str) -> str:
    """Return the text."""
    return text


def add(a: int, b: int) -> Sum:
    """Add two numbers and return structured content."""
    return {"total": a + b}


def fail(reason: str) -> str:
    """Fail with a reason."""
    raise ValueError(reason)


def picture() -> ImageContent:
    """Return a picture."""
    return ImageContent(type="image", data=PIXEL, mimeType="image/png")


def greeting() -> str:
    """Return text content."""
    return "Hello, wörld\u2028on two lines"


def octets() -> bytes:
    """Return all octets."""
    return bytes(range(256))


def item(name: str) -> str:
    """Return one item of a template."""
    return f"the item {name}"


def greet(name: str) -> str:
    """Ask for a greeting."""
    return f"Please greet {name}."


def offer(server: Any) -> None:
    """Register everything with a server object of any of the SDKs."""
    for tool in (echo, add, fail, picture):
        server.tool()(tool)
    server.resource("conformance://greeting", mime_type="text/plain")(greeting)
    server.resource("conformance://octets", mime_type="application/octet-stream")(octets)
    server.resource("conformance://items/{name}", mime_type="text/plain")(item)
    server.prompt()(greet)


def asked_transport() -> str:
    """Return the transport named on the command line."""
    if len(sys.argv) != 2 or sys.argv[1] not in TRANSPORTS:
        sys.exit(f"usage: {sys.argv[0]} {'|'.join(TRANSPORTS)}")
    return sys.argv[1]


def asked_port() -> int:
    """Return the port in the variable PORT."""
    return int(os.environ["PORT"])
