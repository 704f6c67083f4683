"""One server's entry in any application's form, converted to the target and options of a client.

Configuration files and mappings given in code pass through these modules alike.
"""
