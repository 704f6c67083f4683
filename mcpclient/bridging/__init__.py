"""A stdio server in front of any other server, for hosts that speak only stdio."""
