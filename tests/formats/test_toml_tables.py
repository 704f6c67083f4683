"""F-SAFE-6, F-MANY-7: one table of TOML is added or removed; all else stays as it was written."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcpclient.formats.toml_tables import add_table, remove_table
from tests.support.requirements import required

tomllib = required("tomllib")

TEXT = '''# head
model = "x"

[servers.a] # first
command = "npx"
text = """
[servers.b]
"""

[servers.a.env]
A = "1"

[servers."b.c"]
command = "y"
'''


KEPT = {
    "literal string": "x = '''\n[servers.b]\n'''\n",
    "quotes of the other kind": "x = '''\"\"\"'''\n",
    "quotes in a comment": "# don't ''' \"\"\"\n",
    "quotes in a string": "x = \"'''\"\ny = '\"\"\"'\n",
    "quotes at the end of a string": "x = \"\"\"a\"\"\"\"\"\ny = '''b'''''\n",
    "an escaped quote": 'x = """a\\""" """\n',
    "an array over several lines": 'x = [\n["servers.b"],\n[[1]], # ]\n]\n',
    "a comment with brackets": "x = 1 # [[[\n",
}


@pytest.mark.parametrize("line", KEPT.values(), ids=KEPT)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_removing_a_table_loses_nothing_beside_it(line: str, end: str) -> None:
    """F-SAFE-6, F-MANY-7: whatever strings the table, or another one, holds."""
    own, other = "[servers.a]\n", "[servers.b]\nz = 1\n"
    for text in (
        f"{other}{own}{line}[c]\n{line}[servers.d]\n",
        f"[c]\n{line}{own}x1 = 1\n[servers.a.env]\n{line}{other}",
        f"{line}{own}{line.replace('x =', 'q =')}",
    ):
        text = text.replace("\n", end)
        before, after = tomllib.loads(text), tomllib.loads(remove_table(text, ["servers", "a"]))
        del before["servers"]["a"]
        assert after.get("servers", {}) == before.pop("servers")
        after.pop("servers", None)
        assert after == before


def test_a_comment_above_the_next_table_stays() -> None:
    """F-SAFE-6"""
    text = "[a]\nx = 1\n# inside\ny = 2\n\n# about b\n\n# more\n[b]\n[a.c]\nz = 1\n# last\n"
    assert remove_table(text, ["a"]) == "# about b\n\n# more\n[b]\n# last\n"


def test_a_table_that_is_not_there() -> None:
    with pytest.raises(KeyError):
        remove_table(TEXT, ["servers", "b"])
    with pytest.raises(KeyError):
        remove_table("[!]\n", ["servers", "b"])


def test_a_table_is_added_at_the_end() -> None:
    added = add_table(TEXT, ["servers", "n"], {"command": "z", "args": ["-y", 1], "on": True})
    assert added == TEXT + '\n[servers.n]\ncommand = "z"\nargs = ["-y", 1]\non = true\n'
    assert add_table("a = 1\r\n", ["n"], {"b": {}}) == "a = 1\r\n\r\n[n]\r\nb = {}\r\n"
    assert add_table("", ["n"], {"b": 1.5}) == "[n]\nb = 1.5\n"


clean = st.text(st.characters(codec="utf-8"), max_size=10)
values = st.recursive(
    clean | st.booleans() | st.integers(-(2**60), 2**60),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(clean, inner, max_size=3),
    max_leaves=5,
)


@example("]", {})
@example("\x85", {"\u2028": "\u2028"})
@given(clean, st.dictionaries(clean, values, max_size=3))
def test_what_is_added_is_read_and_removed(name: str, table: dict[str, object]) -> None:
    added = add_table(TEXT, ["servers", f"x{name}"], table)
    assert tomllib.loads(added)["servers"][f"x{name}"] == table
    assert tomllib.loads(remove_table(added, ["servers", f"x{name}"])) == tomllib.loads(TEXT)
