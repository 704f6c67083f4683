"""Recorded sessions: one transcript format for traces, tests and replay."""
