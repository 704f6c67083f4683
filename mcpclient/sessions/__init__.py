"""Sessions: background processes that keep a client open between commands."""
