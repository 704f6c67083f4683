"""Typed stubs of a server: written by `mcpclient stubs`, and the classes that they are made of."""

from __future__ import annotations

from .stubs import UNSET, AsyncStub, Offer, Stub, Unset, stubs_for

__all__ = ["UNSET", "AsyncStub", "Offer", "Stub", "Unset", "stubs_for"]
