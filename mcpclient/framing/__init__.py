"""Bytes to events and back. No asyncio, no sockets, no clock, no MCP."""
