"""What a server asks of the client, and who answers."""
