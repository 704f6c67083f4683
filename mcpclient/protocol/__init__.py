"""What MCP means, without I/O: revisions, eras, negotiation, types."""
