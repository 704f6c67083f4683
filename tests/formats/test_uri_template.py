"""F-API-4: RFC 6570, with the examples of its own text."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import ProtocolViolation, TemplateError, UsageError
from mcpclient.formats.uri_template import TemplateValue, expand, variable_names
from tests.support.tables import each_row

# RFC 6570, section 3.2.
VARIABLES: dict[str, TemplateValue] = {
    "count": ["one", "two", "three"],
    "dom": ["example", "com"],
    "dub": "me/too",
    "hello": "Hello World!",
    "half": "50%",
    "var": "value",
    "who": "fred",
    "base": "http://example.com/home/",
    "path": "/foo/bar",
    "list": ["red", "green", "blue"],
    "keys": {"semi": ";", "dot": ".", "comma": ","},
    "v": "6",
    "x": "1024",
    "y": "768",
    "empty": "",
    "empty_keys": {},
    "undef": None,
}

# Sections 1.2 and 3.2.1 to 3.2.9.
RFC_EXAMPLES = {
    "{var}": "value",
    "{hello}": "Hello%20World%21",
    "{+var}": "value",
    "{+hello}": "Hello%20World!",
    "{+path}/here": "/foo/bar/here",
    "here?ref={+path}": "here?ref=/foo/bar",
    "X{#var}": "X#value",
    "X{#hello}": "X#Hello%20World!",
    "map?{x,y}": "map?1024,768",
    "{x,hello,y}": "1024,Hello%20World%21,768",
    "{#path,x}/here": "#/foo/bar,1024/here",
    "{var:3}": "val",
    "{var:30}": "value",
    "{list}": "red,green,blue",
    "{list*}": "red,green,blue",
    "{keys}": "semi,%3B,dot,.,comma,%2C",
    "{keys*}": "semi=%3B,dot=.,comma=%2C",
    "{count}": "one,two,three",
    "{/count}": "/one,two,three",
    "{/count*}": "/one/two/three",
    "{;count}": ";count=one,two,three",
    "{;count*}": ";count=one;count=two;count=three",
    "{?count}": "?count=one,two,three",
    "{?count*}": "?count=one&count=two&count=three",
    "{&count*}": "&count=one&count=two&count=three",
    "{half}": "50%25",
    "O{empty}X": "OX",
    "O{undef}X": "OX",
    "{x,empty}": "1024,",
    "?{x,empty}": "?1024,",
    "?{x,undef}": "?1024",
    "?{undef,y}": "?768",
    "{+half}": "50%25",
    "{base}index": "http%3A%2F%2Fexample.com%2Fhome%2Findex",
    "{+base}index": "http://example.com/home/index",
    "O{+empty}X": "OX",
    "O{+undef}X": "OX",
    "up{+path}{var}/here": "up/foo/barvalue/here",
    "{+path:6}/here": "/foo/b/here",
    "{+keys}": "semi,;,dot,.,comma,,",
    "{+keys*}": "semi=;,dot=.,comma=,",
    "foo{#empty}": "foo#",
    "foo{#undef}": "foo",
    "{#path:6}here": "#/foo/bhere",
    "{.who}": ".fred",
    "{.who,who}": ".fred.fred",
    "www{.dom*}": "www.example.com",
    "X{.list}": "X.red,green,blue",
    "X{.list*}": "X.red.green.blue",
    "X{.keys*}": "X.semi=%3B.dot=..comma=%2C",
    "X{.empty_keys}": "X",
    "X{.empty_keys*}": "X",
    "{/half,who}": "/50%25/fred",
    "{/who,dub}": "/fred/me%2Ftoo",
    "{/var,empty}": "/value/",
    "{/var,undef}": "/value",
    "{/var:1,var}": "/v/value",
    "{/list*,path:4}": "/red/green/blue/%2Ffoo",
    "{/keys*}": "/semi=%3B/dot=./comma=%2C",
    "{;who}": ";who=fred",
    "{;empty}": ";empty",
    "{;v,empty,who}": ";v=6;empty;who=fred",
    "{;v,bar,who}": ";v=6;who=fred",
    "{;hello:5}": ";hello=Hello",
    "{;keys}": ";keys=semi,%3B,dot,.,comma,%2C",
    "{;keys*}": ";semi=%3B;dot=.;comma=%2C",
    "{?x,y,empty}": "?x=1024&y=768&empty=",
    "{?x,y,undef}": "?x=1024&y=768",
    "{?var:3}": "?var=val",
    "{?list*}": "?list=red&list=green&list=blue",
    "{?keys}": "?keys=semi,%3B,dot,.,comma,%2C",
    "{?keys*}": "?semi=%3B&dot=.&comma=%2C",
    "?fixed=yes{&x}": "?fixed=yes&x=1024",
    "{&var:3}": "&var=val",
}


@each_row(("template", "uri"), RFC_EXAMPLES.items())
def test_the_examples_of_the_rfc(template: str, uri: str) -> None:
    """F-API-4: all operators, prefixes and explosions."""
    assert expand(template, VARIABLES) == uri


MALFORMED = {
    "a{b": (1, "the brace is not closed"),
    "a}b": (1, "'}' may not stand here"),
    "a{}": (2, "the name of a variable is missing"),
    "{?}": (2, "the name of a variable is missing"),
    "{a,}": (3, "the name of a variable is missing"),
    "{a b}": (2, "' ' may not stand here"),
    "{a:0}": (2, "':' may not stand here"),
    "{a:10000}": (7, "'0' may not stand here"),
    "{a:2*}": (4, "'*' may not stand here"),
    "{a..b}": (2, "'.' may not stand here"),
    "{%4}": (1, "the name of a variable is missing"),
    "{!a}": (1, "the operator '!' has no meaning yet"),
    "{-a}": (1, "the name of a variable is missing"),
    "{{a}": (0, "the brace is not closed"),
    "x y": (1, "' ' may not stand here"),
    "{a}%zz": (3, "'%' may not stand here"),
    "\ud800": (0, r"'\ud800' may not stand here"),
}


@each_row("template", MALFORMED)
def test_a_malformed_template_is_the_servers_fault(template: str) -> None:
    """F-API-4: and the error says at which character."""
    for use in (lambda: expand(template, {}), lambda: variable_names(template)):
        with pytest.raises(TemplateError) as caught:
            use()
        error = caught.value
        assert isinstance(error, ProtocolViolation)
        assert error.template == template
        assert (error.position, error.fault) == MALFORMED[template]
    assert (
        str(error)
        == f"the URI template {template!r} is malformed at {error.position}: {error.fault}"
    )


@each_row(
    ("template", "value", "fault"),
    [
        ("{a:1}", ["x"], "a: the template takes a prefix of it, so it must be text"),
        ("{a}", b"x", "a: a bytes has no place in a URI"),
        ("{a}", {1}, "a: a set has no place in a URI"),
        ("{a}", [["x"]], "a: a list has no place inside a list"),
        ("{a}", "\ud800", r"'\ud800' is not text that a URI can carry"),
    ],
)
def test_a_value_that_does_not_fit_is_the_callers_fault(
    template: str, value: Any, fault: str
) -> None:
    with pytest.raises(UsageError) as caught:
        expand(template, {"a": value})
    assert str(caught.value) == fault
