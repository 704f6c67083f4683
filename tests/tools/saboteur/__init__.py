"""The saboteur: faults put into a copy of the package, to see which of the proofs notice.

``python -m tests.tools.saboteur`` runs them all (``make sabotage``). A fault that nothing notices
is a hole in the tests, and the command fails.
"""
