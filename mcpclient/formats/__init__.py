"""Text formats that are not MCP's own: front matter, YAML in one line, URI templates."""
