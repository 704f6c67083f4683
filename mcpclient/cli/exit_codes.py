"""What the command line ends with; ``mcpclient help errors`` explains each."""

# Nothing is imported here: ``--version`` needs it, too.

FAILED = 1
"""The tool reported that it failed, or what was compared or expected is otherwise."""

USAGE = 2
NO_CONNECTION = 3
NEEDS_AUTH = 4
PROTOCOL_ERROR = 5
TIMEOUT = 124
CANCELLED = 130
