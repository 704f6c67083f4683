"""JSON-RPC 2.0 without I/O: messages, their JSON text, and the requests in flight."""
