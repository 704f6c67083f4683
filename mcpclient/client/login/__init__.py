"""The runner of the authorization flows."""
