"""The shell of the command line: lines to one or many servers, typed or from a file."""
