"""A server on the Python SDK 2.x: both eras."""

from mcp.server.mcpserver import Context, MCPServer

from conformance.servers import features


async def count(steps: int, ctx: Context) -> str:
    """Report progress at every step."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
    return f"counted to {steps}"


def main() -> None:
    transport = features.asked_transport()
    server = MCPServer(features.NAME, version="1.0", log_level="ERROR")
    features.offer(server)
    server.tool()(count)
    if transport == "stdio":
        server.run("stdio")
    elif transport == "sse":
        server.run("sse", port=features.asked_port())
    else:
        server.run(
            "streamable-http",
            port=features.asked_port(),
            stateless_http=transport == "http-stateless",
            json_response=transport == "http-json",
        )


if __name__ == "__main__":
    main()
