"""Tests of how the guide is shown."""
