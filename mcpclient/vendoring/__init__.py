"""Copies of this package in other projects: a part or the whole, with digests to verify it by."""
