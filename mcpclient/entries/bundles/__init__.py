"""Servers in files of their own: bundles (``.mcpb``, ``.dxt``), and ``server.json`` of a registry.

Both become ordinary entries, so that all that holds for an entry holds for them.
"""
