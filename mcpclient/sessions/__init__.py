"""Sessions that stay: a process in the background that holds a client between two commands."""
