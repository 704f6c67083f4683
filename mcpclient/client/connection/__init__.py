"""One connection to one server: opened, used, renewed, opened again after a loss, and closed."""
