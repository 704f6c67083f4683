"""Typed stubs of a server: written by `mcpclient stubs`, and the classes that they are made of."""

from __future__ import annotations

from .runtime import UNSET, AsyncStub, Stub, Unset
from .source import Offer, stubs_for

__all__ = ["UNSET", "AsyncStub", "Offer", "Stub", "Unset", "stubs_for"]
