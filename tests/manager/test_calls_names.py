"""Resources and prompts of many servers: F-MANY-10, seed 004."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from mcpclient.errors import UsageError
from mcpclient.manager.calls import (
    ManagedPrompt,
    ManagedResource,
    find_resource_server,
    split_prompt_name,
)

OFFERED: dict[str, Collection[str]] = {"a": {"file:///x", "mem://1"}, "b": {"file:///x", "a:mem"}}


def test_resources_that_several_or_none_have() -> None:
    """F-MANY-10: said, and not guessed; with one server there is nothing to guess."""
    with pytest.raises(UsageError, match="may be of a, b: say server="):
        find_resource_server("file:///x", OFFERED, ["a", "b"])
    with pytest.raises(UsageError, match="no server lists 'file:///z'"):
        find_resource_server("file:///z", OFFERED, ["a", "b"])
    assert find_resource_server("file:///z", {"a": ()}, ["a"]) == ("a", "file:///z")


@pytest.mark.parametrize(
    ("uri", "listed", "servers"),
    [
        ("notes:memo://x", {"evil": ["notes:memo://x"], "notes": ["memo://x"]}, ["evil", "notes"]),
        ("github:admin:memo://x", {}, ["github", "github:admin"]),
        ("urn:isbn:1", {"books": ["urn:isbn:1"]}, ["books", "urn"]),
    ],
)
def test_no_server_takes_what_may_be_anothers(uri: str, listed: Any, servers: list[str]) -> None:
    """F-SAFE-4: neither by its list nor by its name."""
    with pytest.raises(UsageError, match=r"may be of .*say server="):
        find_resource_server(uri, listed, servers)


def test_a_server_named_as_a_scheme_owns_no_addresses() -> None:
    """F-SAFE-4: the rest of a web address, behind its colon, is not a URI."""
    listed: dict[str, Collection[str]] = {"a": [], "https": []}
    with pytest.raises(UsageError, match="no server lists"):
        find_resource_server("https://x.example/", listed, ["a", "https"])
    found = find_resource_server("https:https://x.example/", listed, ["a", "https"])
    assert found == ("https", "https://x.example/")


def test_names_of_prompts() -> None:
    """F-MANY-10, F-SAFE-4: of a name that fits two servers, neither answers."""
    assert split_prompt_name("a:review", ["a", "b"]) == ("a", "review")
    assert split_prompt_name("a:b:c", ["a", "b"]) == ("a", "b:c")
    with pytest.raises(UsageError, match="may be a prompt of a, a:b: say server="):
        split_prompt_name("a:b:c", ["a", "a:b"])
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
