"""What a login needs of this machine: a browser, a terminal, and a place for credentials."""
