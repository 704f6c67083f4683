"""What was loaded."""

from __future__ import annotations

import pytest

from mcpclient.config.config import Config
from mcpclient.errors import UsageError


def test_an_explanation_is_found_by_name() -> None:
    config = Config(explanations={"github": "from: here"})
    assert config.explain("github") == "from: here"
    with pytest.raises(UsageError, match=r"no server 'gihub' .*; did you mean 'github'\?"):
        config.explain("gihub")


def test_a_new_configuration_is_empty() -> None:
    config = Config()
    assert (config.servers, config.problems, config.sources) == ({}, [], [])
