"""A server on fastmcp 4, which stands on the Python SDK 2.x."""

from fastmcp import Context, FastMCP

from conformance.servers import features


async def count(steps: int, ctx: Context) -> str:
    """Report progress at every step."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
    return f"counted to {steps}"


def main() -> None:
    transport = features.asked_transport()
    server = FastMCP(features.NAME, version="1.0")
    features.offer(server)
    server.tool()(count)
    options = {"show_banner": False, "log_level": "error"}
    if transport == "stdio":
        server.run("stdio", **options)
    elif transport == "sse":
        server.run("sse", port=features.asked_port(), **options)
    else:
        server.run(
            "http",
            port=features.asked_port(),
            stateless_http=transport == "http-stateless",
            json_response=transport == "http-json",
            **options,
        )


if __name__ == "__main__":
    main()
