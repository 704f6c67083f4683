"""The conformance suite: this library meets other implementations of the protocol."""
