"""The decision to start a server, by the caller's rules, the enterprise's and the user's approval.

`gate.Gate` judges an entry as it will be used, each time it is about to start. Nothing else decides
whether a process is started or a connection opened for an entry.
"""
