"""Servers from configuration files: finding, reading, judging, approving and writing them.

A mistake in a file is a `Problem`, never an exception: one bad entry does not affect the others.
Nothing here starts a process or opens a connection.
"""
