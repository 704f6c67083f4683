"""Transports: they send each `Outgoing`, and deliver the messages of the server."""
