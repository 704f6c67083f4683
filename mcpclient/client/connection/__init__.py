"""One connection to one server: opening, use, renewal, reconnection and closing."""
