"""WebSocket servers of other libraries. Each prints the port that it listens on, then serves."""
