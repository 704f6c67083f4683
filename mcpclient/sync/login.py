"""Logging in and out by hand, blocking."""

from __future__ import annotations

from ..client import authentication
from .blocking import blocking_function

__all__ = ["finish_auth", "log_in", "log_out"]

finish_auth = blocking_function(authentication.finish_auth)
log_in = blocking_function(authentication.log_in)
log_out = blocking_function(authentication.log_out)
