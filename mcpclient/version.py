"""The version of this package, in a module of its own that imports nothing."""

__version__ = "1.0.0"
