"""The file of a server's stubs: F-STUB-1."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.protocol.types import Prompt, ResourceTemplate
from mcpclient.stubs import AsyncStub, Offer, Stub, stubs_for

from .offers import offer, recorded_offers

TOP = Path(__file__).parents[2]


def imported(source: str) -> ModuleType:
    module = ModuleType("stubs_of_a_server")
    exec(compile(source, "stubs.py", "exec"), module.__dict__)
    return module


def methods_of(source: str) -> dict[str, ast.FunctionDef]:
    """Return the methods of the class that blocks."""
    (found,) = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and ast.unparse(node.bases[0]) == "Stub"
    ]
    return {node.name: node for node in found.body if isinstance(node, ast.FunctionDef)}


def runs_nothing(source: str) -> bool:
    """Whether a module only imports, and defines classes and types, whatever a server wrote."""
    allowed = (ast.Import, ast.ImportFrom, ast.ClassDef)
    for node in ast.parse(source).body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_type = isinstance(node, ast.Assign) and (
            isinstance(node.value, ast.Subscript)
            or (isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "TypedDict")
        )
        is_for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if not (isinstance(node, allowed) or is_text or is_type or is_for_types):
            return False
        for inner in ast.walk(node) if isinstance(node, ast.ClassDef) else ():
            if isinstance(inner, ast.FunctionDef) and inner.decorator_list:
                return False
    return True


SEARCH = {
    "name": "search_issues",
    "description": "Search for issues.\n\nOnly those of one repository.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words to look for."},
            "state": {"enum": ["open", "closed"], "default": "open"},
            "from": {"type": "integer"},
            "labels": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["query"],
    },
    "outputSchema": {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": {"$ref": "#/$defs/Issue"}},
            "next page": {"type": ["string", "null"]},
        },
        "required": ["items"],
        "$defs": {
            "Issue": {
                "type": "object",
                "title": "Issue",
                "properties": {
                    "id": {"type": "integer", "description": "Its number."},
                    "parent": {"$ref": "#/$defs/Issue"},
                },
                "required": ["id"],
            }
        },
    },
}


def test_a_tool_is_a_method_with_typed_arguments() -> None:
    """F-STUB-1: names become Python's, optional ones may be left out, defaults are documented."""
    source = stubs_for(offer(SEARCH))
    method = methods_of(source)["search_issues"]
    found = {each.arg: ast.unparse(each.annotation or each) for each in method.args.kwonlyargs}
    assert found == {
        "query": "str",
        "state": "Union[Literal['open', 'closed'], Unset]",
        "from_": "Union[int, Unset]",
        "labels": "Union[list[str], Unset]",
    }
    assert [default is None for default in method.args.kw_defaults] == [True, False, False, False]
    about = ast.get_docstring(method) or ""
    assert about.startswith("Search for issues.\n\nOnly those of one repository.")
    assert "query: Words to look for." in about
    assert 'state: Default: "open".' in about
    assert '"from": from_,' in source


@pytest.mark.parametrize("words", range(28, 42))
def test_a_description_fits_80_columns(words: int) -> None:
    """F-STUB-1: with the quotes around it."""
    source = stubs_for(offer({**SEARCH, "description": "a " * words}))
    about = source[source.index('"""a a') :].partition("query:")[0]
    assert all(len(f"        {line.strip()}") <= 80 for line in about.splitlines())


def test_a_result_is_a_type_of_its_own() -> None:
    """F-STUB-1: recursion included, and keys that no attribute could have."""
    source = stubs_for(offer(SEARCH))
    assert "class Issue(TypedDict):" in source
    assert "    parent: NotRequired[Issue]" in source
    assert '"next page": "NotRequired[Union[str, None]]"' in source
    assert ast.unparse(methods_of(source)["search_issues"].returns or ast.Pass()) == (
        "SearchIssuesResult"
    )
    imported(source)


def test_prompts_and_templates_are_methods() -> None:
    """F-STUB-1: but for a template that is none, which must not keep the others from a user."""
    more: dict[str, Any] = {
        "prompts": [Prompt({"name": "haiku", "arguments": [{"name": "topic", "required": True}]})],
        "templates": [
            ResourceTemplate({"name": "broken", "uriTemplate": "file:///{"}),
            ResourceTemplate({"name": "file", "uriTemplate": "file:///{+path}"}),
        ],
    }
    methods = methods_of(stubs_for(offer(**more)))
    assert set(methods) == {"prompt_haiku", "read_file"}
    assert [each.arg for each in methods["prompt_haiku"].args.kwonlyargs] == ["topic"]
    assert [each.arg for each in methods["read_file"].args.kwonlyargs] == ["path"]


def test_a_long_name_that_is_taken_is_a_type_like_any_other() -> None:
    """F-STUB-1: the API of Notion has such names."""
    item = {"type": "object", "title": "x" * 60, "properties": {"a": {"type": "string"}}}
    properties = {"a": item, "b": {"type": "array", "items": {**item}}}
    schema = {"type": "object", "properties": properties}
    source = stubs_for(offer({"name": "post", "inputSchema": schema}))
    assert '[""]' not in source
    imported(source)


HOSTILE_NAMES = (
    *("class", "None", "self", "client", "connect", "close", "__init__", "__class__", "_call"),
    *("list", "dict", "Any", "Union", "", "1st", "a-b", "a_b", "a b", "ä", "名", "x" * 300),
    *('"""', "'''", "\\", "a\nimport os", "a(): pass #", "UNSET", "Stub", "match", "_", "__"),
)
HOSTILE_TEXTS = (
    *('"""\nimport os\nos.abort()\n"""', "'''", "\\", '\\"""', '"', 'ends with "', "\x1b[2J\r\n"),
    *("\u202e", "\ud800", "{0}", "%s", "\\N{DIGIT ONE}", "\\x41", "a\fb", "\u2028", "", " ", "\t"),
)


def test_names_and_texts_of_a_hostile_server_stay_names_and_texts() -> None:
    """F-STUB-1: nothing of it is run, and no method takes the place of another."""
    tools = [
        {
            "name": name,
            "description": text,
            "inputSchema": {
                "type": "object",
                "properties": {
                    **{each: {"description": text, "default": text} for each in HOSTILE_NAMES},
                    "choice": {"enum": [*HOSTILE_TEXTS, 1, None, True]},
                },
            },
            "outputSchema": {
                "type": "object",
                "title": name,
                "description": text,
                "properties": {each: {"description": text} for each in HOSTILE_NAMES},
            },
        }
        for name, text in zip(HOSTILE_NAMES, HOSTILE_TEXTS * 2)
    ]
    source = stubs_for(Offer('"""\nraise SystemExit #', [*offer(*tools).tools], about='"""'))
    assert source.isascii() and runs_nothing(source)
    assert len(methods_of(source)) == len(HOSTILE_NAMES)
    module = imported(source)
    made = [value for value in vars(module).values() if isinstance(value, type)]
    for kind in (Stub, AsyncStub):
        (stub,) = [each for each in made if issubclass(each, kind) and each is not kind]
        own = {name for name in vars(stub) if not name.startswith("__")}
        assert not own & (vars(kind).keys() | {"client"})


@pytest.mark.slow
def test_ten_thousand_tools_and_endless_schemas_end() -> None:
    """F-STUB-1"""
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(200):
        deep = {"type": "object", "properties": {"x": deep}}
    cycle = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}
    schemas = [deep, cycle, {"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, {"$ref": "http://x"}, True]
    tools = [
        {"name": f"t{i}", "inputSchema": {"properties": {"x": s}}, "outputSchema": s}
        for i, s in enumerate(schemas)
    ]
    source = stubs_for(offer(*tools, *({"name": f"tool{i}"} for i in range(10_000))))
    assert runs_nothing(source)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
WORDS = st.sampled_from(
    [
        *("type", "properties", "required", "items", "enum", "const", "anyOf", "oneOf", "allOf"),
        *("$ref", "$defs", "title", "default", "description", "additionalProperties"),
        *("prefixItems", "nullable", "object", "array", "string", "null"),
    ]
)
SCHEMAS = st.recursive(
    JSON | WORDS | st.just({"$ref": "#"}),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=5), inner),
    max_leaves=25,
)


@pytest.mark.slow
@given(SCHEMAS, SCHEMAS, st.text(max_size=20))
def test_every_schema_gives_a_file_that_compiles(given_in: Any, given_out: Any, name: str) -> None:
    """F-STUB-1"""
    tool = {"name": name, "inputSchema": given_in, "outputSchema": given_out, "description": name}
    source = stubs_for(offer(tool))
    assert runs_nothing(source)
    imported(source)


HOSTILE = [
    *("UNSET", "Any", "Union", "Literal", "TypedDict", "NotRequired", "Stub", "Unset", "list"),
    *("CallToolResult", "search", "SearchResult", "SearchResultInner", "TestServer", "a\\'b"),
    *('q"r', 's\\"t', "data", "self", "None", "client", "prompt_x", "\ud83d", "\U0001f600"),
]


def hostile_offer() -> Offer:
    """Tools whose names, arguments and results are words of the file itself."""
    inner = {"type": "object", "properties": {"z": {"type": "string"}}}
    result = {"type": "object", "properties": {"x": {"type": "integer"}, "inner": inner}}
    arguments: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "data": {"default": 1}, "Any": {}, "others": {}},
        "required": ["a", "data", "only_required"],
        "additionalProperties": {"type": "integer"},
    }
    return offer(
        *(
            {"name": name, "inputSchema": arguments, **({"outputSchema": result} if typed else {})}
            for name in HOSTILE
            for typed in [name not in ("search", "Any")]
        )
    )


def test_every_tool_is_called_by_its_own_name_and_takes_its_arguments() -> None:
    """F-STUB-1"""
    source = stubs_for(hostile_offer())
    texts = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    assert all(texts.count(name) >= 2 for name in HOSTILE)
    for method in methods_of(source).values():
        given, needed = method.args.kwonlyargs, method.args.kw_defaults
        required = [each.arg for each, default in zip(given, needed) if default is None]
        assert required == ["a", "only_required"]
        assert method.args.kwarg is not None
        assert ast.unparse(method.args.kwarg) == "others_2: int"


@pytest.mark.slow
def test_type_checkers_and_formatters_find_nothing(tmp_path: Path) -> None:
    """F-STUB-1: in the stubs of every recorded server."""
    files = {name: stubs_for(each) for name, each in recorded_offers().items()}
    assert len(files) > 25
    files["hostile"] = stubs_for(hostile_offer())
    for name, source in files.items():
        path = tmp_path / f"stubs_{name.replace('-', '_').replace('.', '_')}.py"
        path.write_text(source)
    for command in (
        ["ruff", "format", "--isolated", "--check", str(tmp_path)],
        ["mypy", "--strict", "--config-file", str(TOP / "pyproject.toml"), str(tmp_path)],
        ["pyright", "--pythonpath", sys.executable, str(tmp_path)],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=TOP, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
