"""A server by the Python SDK 2.x, run in its own environment."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("bench", version="1", log_level="ERROR")


def echo(message: str) -> str:
    """Return the message."""
    return message


if __name__ == "__main__":
    server.tool()(echo)
    server.run("stdio")
