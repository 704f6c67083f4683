"""Logging in and out by hand, blocking."""

from __future__ import annotations

from typing import Any, Callable

from ..net.login import authentication
from .client import blocking_function

finish_auth: Callable[..., Any] = blocking_function(authentication.finish_auth)
log_in: Callable[..., Any] = blocking_function(authentication.log_in)
log_out: Callable[..., Any] = blocking_function(authentication.log_out)
