"""Run the public JSON-Schema-Test-Suite against `mcpclient.protocol.schema` and print counts.

    python conformance/schema_suite.py DIR [-v]

DIR is a checkout of https://github.com/json-schema-org/JSON-Schema-Test-Suite. Nothing is ever
fetched, so schemas that refer to the documents in its ``remotes`` folder are refused. The exit
status is 1 when a required test fails for another reason. ``-v`` names every failure.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from mcpclient.protocol.schema import Schema, SchemaError, compile_schema

# The suite's name for a dialect, the one that schemas without $schema are in, and our support.
DRAFTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
}


class Outcome(Counter[str]):
    """The number of tests that passed and failed, and the refused schemas."""

    def line(self, title: str) -> str:
        refused = f", {self['refused']} of them by refusing the schema" if self["refused"] else ""
        return f"{title}: {self['passed']} passed, {self['failed']} failed{refused}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("directory", type=Path)
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    failed = 0
    for draft in DRAFTS:
        folder = arguments.directory / "tests" / draft
        required = Outcome()
        for path in sorted(folder.glob("*.json")):
            required += run_file(path, draft, arguments.verbose)
        print(required.line(f"{draft}, required"))
        for title, pattern in (("optional", "optional/*.json"), ("formats", "*/format/*.json")):
            outcome = Outcome()
            for path in sorted(folder.glob(pattern)):
                outcome += run_file(path, draft, arguments.verbose)
            print(outcome.line(f"{draft}, {title}"))
        failed += required["failed"] - required["refused"]
    return 1 if failed else 0


def run_file(path: Path, draft: str, verbose: bool) -> Outcome:
    outcome = Outcome()
    for case in json.loads(path.read_text("utf-8")):
        schema = compile_case(case, path, draft)
        for test, passed in judge(case, schema):
            outcome["passed" if passed else "failed"] += 1
            outcome["refused"] += not passed and isinstance(schema, SchemaError)
            if verbose and not passed:
                reason = f" ({schema})" if isinstance(schema, SchemaError) else ""
                print(f"  {path.name}: {case['description']}: {test['description']}{reason}")
    return outcome


def compile_case(case: Mapping[str, Any], path: Path, draft: str) -> Schema | SchemaError:
    schema = case["schema"]
    if isinstance(schema, dict):
        schema = {"$schema": DRAFTS[draft], **schema}
    try:
        return compile_schema(schema, assert_formats="format" in path.parent.name)
    except SchemaError as error:
        return error


def judge(
    case: Mapping[str, Any], schema: Schema | SchemaError
) -> Iterator[tuple[Mapping[str, Any], bool]]:
    for test in case["tests"]:
        if isinstance(schema, SchemaError):
            yield test, False
        else:
            yield test, (not schema.validate(test["data"])) == test["valid"]


if __name__ == "__main__":
    sys.exit(main())
