"""Code mode: Python that a model writes, run in a sandbox, with the tools as functions."""
