"""Observers and callbacks of a connection, and functions around its calls."""
