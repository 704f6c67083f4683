"""Resources and prompts of many servers: F-MANY-10, seed 004."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from mcpclient.errors import UsageError
from mcpclient.manager.resources import (
    ManagedPrompt,
    ManagedResource,
    find_resource_server,
    split_prompt_name,
)

OFFERED: dict[str, Collection[str]] = {"a": {"file:///x", "mem://1"}, "b": {"file:///x", "a:mem"}}


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("mem://1", ("a", "mem://1")),
        ("a:mem", ("b", "a:mem")),  # a URI of the server's own goes first
        ("b:file:///y", ("b", "file:///y")),
        ("closed:file:///y", ("closed", "file:///y")),
    ],
)
def test_whose_resource_it_is(uri: str, found: tuple[str, str]) -> None:
    """F-MANY-10"""
    assert find_resource_server(uri, OFFERED, ["a", "b", "closed"]) == found


def test_resources_that_several_or_none_have() -> None:
    """F-MANY-10: said, and not guessed; with one server there is nothing to guess."""
    with pytest.raises(UsageError, match="is offered by a, b: say server="):
        find_resource_server("file:///x", OFFERED, ["a", "b"])
    with pytest.raises(UsageError, match="no server lists 'file:///z'"):
        find_resource_server("file:///z", OFFERED, ["a", "b"])
    assert find_resource_server("file:///z", {"a": ()}, ["a"]) == ("a", "file:///z")


def test_names_of_prompts() -> None:
    """F-MANY-10, seed 004: the longest name of a server that fits is meant."""
    assert split_prompt_name("a:b:c", ["a", "a:b"]) == ("a:b", "c")
    assert split_prompt_name("a:review", ["a", "b"]) == ("a", "review")
    with pytest.raises(UsageError, match=r"server:prompt, not 'review'"):
        split_prompt_name("review", ["a"])
    with pytest.raises(UsageError, match="did you mean 'github'"):
        split_prompt_name("githb:review", ["github"])


def test_each_knows_its_server() -> None:
    """F-MANY-10, seed 004: ``server:prompt``, and the name by which the server knows it."""
    prompt = ManagedPrompt({"name": "review"}, "a")
    assert (prompt.name, prompt.raw_name, prompt.server) == ("a:review", "review", "a")
    assert repr(prompt) == "<mcpclient.ManagedPrompt a:review>"
    resource = ManagedResource({"uri": "mem://1"}, "a")
    assert (resource.uri, repr(resource)) == ("mem://1", "<mcpclient.ManagedResource a:mem://1>")
