"""One server's entry, as any application writes it, read into the target and options of a client.

Configuration files and mappings given in code pass through these modules alike.
"""
