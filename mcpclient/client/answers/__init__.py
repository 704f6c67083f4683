"""Requests of the server, and the handlers that answer them."""
