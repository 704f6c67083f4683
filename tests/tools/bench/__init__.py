"""The benchmark: the same calls through this library, raw asyncio and the other clients."""
