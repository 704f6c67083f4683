"""The meaning of MCP, without I/O: revisions, eras, negotiation, types."""
