"""One server: connecting to it, and all that can be asked of it."""
