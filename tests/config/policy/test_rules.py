"""F-MANY-9: the three kinds of rules: strict where they allow, generous where they deny."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mcpclient.config.policy.rules import CommandRule, NameRule, UrlRule, read_rule
from mcpclient.entries.urls import canonical_url
from mcpclient.errors import UsageError
from tests.support.tables import each_row


def no_links(program: str) -> Sequence[str]:
    return ()


@each_row(
    "text",
    [
        "name:git*",
        "command:npx -y @corp/*",
        "command:'a b' c",
        "url:https://*.corp.com/*",
        "url:*://[::1]:8080/a",
        "url:http://*",
        "url:https://a:*",
        "env:GRAFANA_*",
        "cwd:/srv/*",
    ],
)
def test_a_rule_is_shown_as_it_is_written(text: str) -> None:
    rule = read_rule(text)
    assert str(rule) == text
    assert read_rule(rule) is rule


def test_the_rules_of_claude_code() -> None:
    """F-MANY-9, seed 002 section 15.2.3"""
    assert read_rule({"serverName": "github"}) == NameRule("github")
    assert read_rule({"serverUrl": "https://*.slack.com/*"}) == UrlRule(
        "https", "*.slack.com", None, "/*"
    )
    rule = read_rule({"serverCommand": ["npx", "-y", "a*"]})
    assert rule == CommandRule(("npx", "-y", "a*"), exact=True)
    assert isinstance(rule, CommandRule)
    assert not rule.allows(["npx", "-y", "ab"], no_links)


def test_a_denied_name_in_other_letters() -> None:
    """F-MANY-9: upper case, and letters that look the same, are the same name in a deny list."""
    assert not NameRule("Evil").matches("evil", generous=False)
    assert NameRule("evil").matches("\uff45VIL ", generous=True)


NO_RULES: list[object] = [
    *("", "github", "name:", "name: ", "command:", "command:'x", "command:''", "nome:x"),
    *("url:", "url:example.com", "url:https://", "url:https://u@x/", "url:https://x/?q"),
    *("url:https://x/#f", "url:https://x:0/", "url:https://x:99999/", "url:https://a b/"),
    *("url:https://a\\b/", "url:https://x/a b", "url:https://1.2.3.4.5/"),
    *(None, 3, [], {}, {"serverName": "a:b"}, {"serverName": "a", "serverUrl": "https://x"}),
    *(
        {"serverCommand": "npx"},
        {"serverCommand": []},
        {"serverCommand": [1]},
        {"name": "https://x"},
    ),
    {"serverName": 3},
    *("env:", "env:A B", "cwd:", "cwd:relative"),
]


@each_row("rule", NO_RULES)
def test_what_is_no_rule_is_refused_aloud(rule: object) -> None:
    """F-MANY-9: a rule that cannot be read is an error, never a rule less."""
    with pytest.raises(UsageError):
        read_rule(rule)  # type: ignore[arg-type]


ALLOWED = [
    ("command:npx -y @corp/*", ["npx", "-y", "@corp/x"], True),
    ("command:npx -y @corp/*", ["npx", "-y", "@corp/x@1.2"], True),
    ("command:npx -y @corp/*", ["npx", "-y", "@corp/x", "--flag"], False),
    ("command:npx -y @corp/*", ["npx", "--yes", "@corp/x"], False),
    ("command:npx -y @corp/*", ["npx", "@corp/x"], False),
    ("command:npx -y @corp/*", ["/tmp/npx", "-y", "@corp/x"], False),
    ("command:npx -y @corp/*", ["NPX", "-y", "@corp/x"], False),
    ("command:npx -y @corp/*", ["npx", "-y", "@corp/../../evil"], False),
    ("command:npx -y @corp/*", ["npx", "-y", "@corp/x@npm:evil"], False),
    ("command:npx -y @corp/*", ["sh", "-c", "npx -y @corp/x"], False),
    ("command:npx *", ["npx", "a"], True),
    ("command:npx *", ["npx"], False),
    ("command:npx *", ["npx", "a", "b"], False),
    ("command:npx **", ["npx"], True),
    ("command:npx ** z", ["npx", "a", "b", "z"], True),
    ("command:npx ** z", ["npx", "z", "a"], False),
    ("command:server --dir=*", ["server", "--dir=/a"], True),
    ("command:server --dir=*", ["server", "--dir=../a"], False),
]


@each_row(("text", "command", "expected"), ALLOWED)
def test_a_command_is_allowed_word_by_word(text: str, command: list[str], expected: bool) -> None:
    """F-MANY-9: by command, element by element; what the rule does not say is not meant."""
    rule = read_rule(text)
    assert isinstance(rule, CommandRule)
    assert rule.allows(command, no_links) is expected


def test_a_link_out_of_an_allowed_folder() -> None:
    rule = CommandRule(("/opt/mcp/*",))
    assert rule.allows(["/opt/mcp/a"], lambda program: ["/opt/mcp/a"])
    assert not rule.allows(["/opt/mcp/a"], lambda program: ["/opt/mcp/a", "/tmp/evil"])
    assert not rule.allows(["/opt/mcp/../../tmp/evil"], no_links)


@each_row(
    "command",
    [
        *(["npx", "-y", "@good/x"], ["uvx", "@sketchy"], ["npx-helper", "@sketchy/x"], ["npx"]),
        ["sh", "-c", "cd $HOME && uvx good"],
        ["tool", "--note", "costs $5, or `npx`"],
    ],
)
def test_another_command_is_not_denied(command: list[str]) -> None:
    rule = CommandRule(("npx", "*", "@sketchy/*"))
    assert not rule.denies(command, no_links)


URLS = [
    # rule, URL, whether an allow list means it, whether a deny list does
    ("https://*.corp.com/*", "https://a.corp.com/x", True, True),
    ("https://*.corp.com/*", "https://a.b.corp.com/x/y", True, True),
    ("https://*.corp.com/*", "https://corp.com/x", False, False),
    ("https://*.corp.com/*", "https://evil.com/x.corp.com/", False, False),
    ("https://*.corp.com/*", "https://evilcorp.com/x", False, False),
    ("https://corp.com/*", "https://corp.com.evil.com/x", False, False),
    ("https://a.corp.com/*", "https://a.corp/x", False, False),
    ("https://*.corp.com/*", "https://a.corp.com.evil.com/x", False, False),
    ("https://*.corp.com/*", "https://a.corp.com@evil.com/x", False, False),
    ("https://*.corp.com/*", "https://A.CORP.com.:443/x", True, True),
    ("https://*.corp.com/*", "https://a.corp.com:8443/x", False, True),
    ("https://*.corp.com/*", "http://a.corp.com/x", False, False),
    ("https://*.corp.com:*/*", "https://a.corp.com:8443/x", True, True),
    ("https://api-*.corp.com", "https://api-1.corp.com/any/path", True, True),
    ("https://api-*.corp.com", "https://api-1.x.corp.com/", False, False),
    ("https://ＣＯＲＰ.com./*", "https://corp.com/", True, True),
    ("https://corp.com/mcp/*", "https://corp.com/mcp/a/b", True, True),
    ("https://corp.com/mcp/*", "https://corp.com/mcp", False, True),
    ("https://corp.com/mcp/*", "https://corp.com/MCP/a", False, True),
    ("https://corp.com/mcp/*", "https://corp.com/mcp/../admin", False, False),
    ("https://corp.com/mcp/*", "https://corp.com/mcp/%2e%2e/admin", False, False),
    ("https://corp.com/*/mcp", "https://corp.com/a/mcp", True, True),
    ("https://corp.com/*/mcp", "https://corp.com/a/b/mcp", False, False),
    ("https://corp.com/mcp", "https://corp.com/%6dcp?x=1", True, True),
    ("https://corp.com/mcp", "https://corp.com/mcp/", False, False),
    ("http://*", "http://anything:99/x", False, True),
    ("*://corp.com", "ws://corp.com/", True, True),
    ("http://127.0.0.1", "http://2130706433/", True, True),
    ("http://127.0.0.1", "http://[::ffff:127.0.0.1]/", True, True),
    ("https://evil.com/*", "wss://evil.com/x", False, True),
    ("http://0x7f.1", "http://127.0.0.1/", True, True),
    ("http://[0::1]", "http://[::1]/", True, True),
    ("http://*.1", "http://[::1]/", False, False),
    ("https://corp.com/mcp/*", "https://corp.com/mcp/..%2fadmin", False, True),
    ("https://corp.com/mcp/*", "https://corp.com/mcp/%252e%252e/admin", False, True),
    ("https://corp.com/mcp/*", "https://corp.com/mcp/..;/admin", False, True),
    ("https://corp.com/mcp/*", "https://corp.com/mcp;x=1/admin", False, True),
    ("https://corp.com/mcp/*", "https://corp.com/mcp//admin", False, True),
    ("https://corp.com/mcp/*", "https://corp.com/mcp/a%5c..%5cb", False, True),
    ("https://corp.com/mcp/*", "https://corp.com/mcp/%00", False, True),
    ("https://corp.com/mcp/*", "https://corp.com/mcp/a/", True, True),
    ("https://corp.com/admin/*", "https://corp.com/x/..%2fadmin/y", False, True),
    ("https://corp.com/admin/*", "https://corp.com/%2561dmin/y", False, True),
    ("https://corp.com/admin/*", "https://corp.com/%252561dmin/y", False, True),
    ("https://corp.com/admin/*", "https://corp.com/x%5c..%5cadmin/y", False, True),
    ("https://corp.com/admin/*", "https://corp.com//admin;a/y", False, True),
    ("https://corp.com/caf%C3%A9/*", "https://corp.com/café/x", True, True),
    ("https://corp.com/a:b", "https://corp.com/a%3Ab", True, True),
    ("https://corp.com/a%2Fb/*", "https://corp.com/a%2Fb/x", True, True),
    ("https://corp.com/a%2Fb/*", "https://corp.com/a/b/x", False, False),
    ("https://corp.com/*", "https://corp.com/a%2Fb;c//d", True, True),
    ("https://corp.com", "https://corp.com/a%2Fb", True, True),
]


@each_row(("text", "url", "allowed", "denied"), URLS)
def test_the_parts_of_a_url(text: str, url: str, allowed: bool, denied: bool) -> None:
    """F-MANY-9: scheme, host labels, port and path apart."""
    rule = read_rule(f"url:{text}")
    assert isinstance(rule, UrlRule)
    found = canonical_url(url)
    assert rule.matches(found, generous=False) is allowed
    assert rule.matches(found, generous=True) is denied
