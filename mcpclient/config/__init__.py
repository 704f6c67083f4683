"""Configuration files into servers: found, read, expanded, judged, approved, and written back.

What is wrong with a file is a `Problem`, never an exception: one bad entry does not cost its
neighbours. Nothing here starts a process or opens a connection.
"""
