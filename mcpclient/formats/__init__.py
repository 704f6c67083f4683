"""Text formats that are not MCP's own, and edits that leave the rest of a file as it was."""
