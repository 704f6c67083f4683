"""Rules on the servers that may be used, by their names, commands and URLs."""
