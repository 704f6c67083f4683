"""Fixtures of the tests of bundles."""

from tests.cli.conftest import nothing_configured

__all__ = ["nothing_configured"]
