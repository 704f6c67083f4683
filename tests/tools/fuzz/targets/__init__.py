"""One module for each target: its name, and ``target(data)`` in it."""
