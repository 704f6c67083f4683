"""Run the public uritemplate-test suite against `mcpclient.formats.uri_template`.

    python conformance/uri_template_suite.py DIR

DIR is a checkout of https://github.com/uri-templates/uritemplate-test. Every failure is named, and
the counts are printed. The exit status is 1 when a test fails.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from mcpclient.errors import McpError
from mcpclient.formats.uri_template import TemplateValue, expand


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("directory", type=Path)
    failed = 0
    for path in sorted(parser.parse_args().directory.glob("*.json")):
        groups = json.loads(path.read_text("utf-8"))
        results = [
            passes(template, expected, group["variables"])
            for group in groups.values()
            for template, expected in group["testcases"]
        ]
        print(f"{path.name}: {sum(results)} passed, {len(results) - sum(results)} failed")
        failed += len(results) - sum(results)
    return 1 if failed else 0


def passes(template: str, expected: object, variables: Mapping[str, TemplateValue]) -> bool:
    """Whether one test passes. Expected is a string, one of several, or False for an error."""
    found: object
    try:
        found = expand(template, variables)
    except McpError as error:
        found = False
        reason = f" ({error})"
    else:
        reason = ""
    if found == expected or (isinstance(expected, list) and found in expected):
        return True
    print(f"  {template}: expected {expected!r}, got {found!r}{reason}")
    return False


if __name__ == "__main__":
    sys.exit(main())
