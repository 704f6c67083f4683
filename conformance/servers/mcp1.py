"""A server on the Python SDK 1.x: the handshake era."""

from mcp.server.fastmcp import Context, FastMCP

from conformance.servers import features


async def count(steps: int, ctx: Context) -> str:
    """Report progress at every step."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
    return f"counted to {steps}"


def main() -> None:
    transport = features.asked_transport()
    options = {}
    if transport != "stdio":
        options["port"] = features.asked_port()
    server = FastMCP(
        features.NAME,
        log_level="ERROR",
        stateless_http=transport == "http-stateless",
        json_response=transport == "http-json",
        **options,
    )
    features.offer(server)
    server.tool()(count)
    server.run(transport if transport in ("stdio", "sse") else "streamable-http")


if __name__ == "__main__":
    main()
