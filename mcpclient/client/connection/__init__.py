"""One connection: how it is made, kept, made again, and what travels on it."""
