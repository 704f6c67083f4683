"""Copies of these tests are made of one reading of the package."""

from __future__ import annotations

import pytest

from tests.support.copies import read_package_once

_once = pytest.fixture(autouse=True)(read_package_once)
