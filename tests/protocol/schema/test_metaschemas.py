"""The metaschemas of both dialects, which are made when they are imported: F-API-17."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from typing import Any

import pytest

from mcpclient.protocol.schema import metaschemas
from mcpclient.protocol.schema.metaschemas import METASCHEMAS


def references_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (text for key, text in value.items() if key == "$ref" and isinstance(text, str))
        for each in value.values():
            yield from references_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from references_in(each)


def test_they_are_the_same_each_time() -> None:
    made = runpy.run_path(metaschemas.__file__)["METASCHEMAS"]
    assert dict(made) == dict(METASCHEMAS)


@pytest.mark.parametrize("uri", METASCHEMAS)
def test_their_references_lead_somewhere(uri: str) -> None:
    document: Any = METASCHEMAS[uri]
    for reference in references_in(document):
        if reference.startswith("#/"):
            found = document
            for part in reference[2:].split("/"):
                found = found[part]
            assert found is not None
        elif reference != "#":
            assert any(key.rstrip("#").endswith(reference.split("#")[0]) for key in METASCHEMAS)
