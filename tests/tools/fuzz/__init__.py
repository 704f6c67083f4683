"""Fuzzing: bytes of an adversary for every framer and every parser.

A target is a module in ``targets/`` with one function ``target(data)``. It may raise nothing: the
exceptions that are a refusal are caught where they are allowed, and everything else is a finding,
as is a broken ``assert``. Its seeds are the files in ``corpus/<target>/``.

``python -m tests.tools.fuzz`` runs the targets with atheris, which looks for inputs that reach
code no input has reached before. `test_targets` runs them over the seeds and over some
mutations of these with every test run, so that no target rots.
"""
