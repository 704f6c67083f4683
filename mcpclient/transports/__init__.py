"""An `Outgoing` goes in, messages come out."""
