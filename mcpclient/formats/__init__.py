"""Text formats that are not MCP's own: front matter, YAML in one line, URI templates, JSON with
comments, and edits of JSON and TOML that leave the rest of a file as it was.
"""
