"""F-AUTH-12, F-SHOW-6, F-SHOW-8: what is shown or stored holds no secret."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from mcpclient.recording.redaction import Redactor
from mcpclient.recording.secrets import without_values
from tests.support.tables import each_row


@each_row(
    ("name", "value", "shown"),
    [
        ("Authorization", "Bearer s3cret", "Bearer redacted-1"),
        ("authorization", "s3cret", "redacted-1"),
        ("Proxy-Authorization", "Basic /w==", "Basic redacted-1"),
        ("Authorization", "Basic bm90aGluZyBlbHNl", "Basic redacted-1"),
        ("Cookie", "a=s3cret; b=other", "a=redacted-1; b=redacted-2"),
        ("Cookie", "s3cret", "redacted-1"),
        ("Set-Cookie", "a=s3cret; Path=/; Secure", "a=redacted-1; Path=/; Secure"),
        ("Mcp-Session-Id", "s3cret", "redacted-1"),
        ("DPoP", "s3cret", "redacted-1"),
        ("X-Api-Key", "s3cret", "redacted-1"),
        ("Ocp-Apim-Subscription-Key", "s3cret", "redacted-1"),
        ("X-Auth-Token", "s3cret", "redacted-1"),
        ("Location", "https://u:p@h/x?code=s3cret", "https://h/x?code=redacted-1"),
        ("Referer", "https://h/x?token=s3cret", "https://h/x?token=redacted-1"),
        ("X-Request-Id", "17", "17"),
        ("WWW-Authenticate", 'Bearer error="invalid_token"', 'Bearer error="invalid_token"'),
    ],
)
def test_headers(name: str, value: str, shown: str) -> None:
    assert Redactor().headers([(name, value), ("Accept", "x")]) == [[name, shown], ["Accept", "x"]]


def test_a_client_may_call_its_key_what_it_likes() -> None:
    """F-AUTH-12: of a request, only headers that are known keep their value."""
    sent = [("X-Mine", "s3cret"), ("Mcp-Method", "ping"), ("Mcp-Param-Token", "t"), ("Host", "h")]
    assert Redactor().headers(sent, sent=True) == [
        ["X-Mine", "redacted-1"],
        ["Mcp-Method", "ping"],
        ["Mcp-Param-Token", "redacted-2"],
        ["Host", "h"],
    ]


@each_row(
    ("url", "shown"),
    [
        ("https://user:pass@host/mcp", "https://host/mcp"),
        ("https://host/mcp?key=1&b", "https://host/mcp?key=redacted-1&b"),
        ("/token?grant_type=x&a=b%20c#t=1", "/token?grant_type=x&a=redacted-1#t=redacted-2"),
        ("https://host/mcp", "https://host/mcp"),
        ("", ""),
    ],
)
def test_urls_keep_what_oauth_says_and_lose_the_rest(url: str, shown: str) -> None:
    assert Redactor().url(url) == shown


@each_row(
    "name",
    [
        *(
            "actor_token_type",
            "audience",
            "client_assertion_type",
            "client_id",
            "resource",
            "scope",
        ),
        *("code_challenge_method", "error", "error_description", "error_uri", "grant_type", "iss"),
        *("prompt", "redirect_uri", "requested_token_type", "response_type", "subject_token_type"),
        "token_type_hint",
    ],
)
def test_what_is_to_be_done_is_told_in_a_form(name: str) -> None:
    """F-SHOW-8: else a login that was recorded could not be replayed."""
    assert Redactor().form(f"{name}=urn:a-long-value") == f"{name}=urn:a-long-value"


def test_the_body_of_a_form_is_one() -> None:
    """F-AUTH-12: a value under an unknown name may be a secret."""
    head = {"method": "POST", "headers": [["Content-Type", "application/x-www-form-urlencoded"]]}
    record = {"http": head, "text": "grant_type=urn:x&vendor=long-s3cret"}
    assert Redactor().record(record)["text"] == "grant_type=urn:x&vendor=redacted-1"
    plain = {"http": {"method": "POST", "headers": [["Content-Type", "text/plain"]]}}
    assert Redactor().record({**plain, "text": "a=1&b=2"})["text"] == "a=1&b=2"


def test_who_answers_a_login_and_why_not_is_no_secret() -> None:
    """F-AUTH-12, F-SHOW-8: an issuer named in a callback (RFC 9207) can be read everywhere else."""
    redactor = Redactor()
    said = "iss=https%3A%2F%2Flogin.example.com%2Ftenant&error=access_denied"
    assert redactor.url(f"http://127.0.0.1/callback?code=a-code&{said}") == (
        f"http://127.0.0.1/callback?code=redacted-1&{said}"
    )
    issuer = "https://login.example.com/tenant"
    assert redactor.message({"issuer": issuer}) == {"issuer": issuer}


def test_the_same_secret_has_the_same_name_everywhere() -> None:
    """F-SHOW-8: so it can be seen where a token came from, and where it went."""
    redactor = Redactor()
    assert redactor.message({"access_token": "a b/é", "expires_in": 5}) == {
        "access_token": "redacted-1",
        "expires_in": 5,
    }
    assert redactor.headers([("Authorization", "Bearer a b/é")]) == [
        ["Authorization", "Bearer redacted-1"]
    ]
    assert redactor.form("token=a+b%2F%C3%A9&token_type_hint=x") == (
        "token=redacted-1&token_type_hint=x"
    )
    assert redactor.name_of("a b/é") == "redacted-1"
    assert repr(redactor) == "<Redactor of 1 secrets>"


def test_names_are_names_already() -> None:
    """F-SHOW-8: what was redacted once is not changed by another redactor."""
    assert Redactor().message({"password": "redacted-7"}) == {"password": "redacted-7"}
    assert Redactor().name_of("") == ""


@each_row(
    "value",
    [
        {"properties": {"password": {"type": "string"}}, "required": ["password"]},
        {"token_endpoint": "https://as/token", "authorization_servers": ["https://as"]},
        {"token_type": "Bearer", "code": -32601, "input_tokens": 12},
        {"properties": {"token": True, "pin": {}, "b": {"default": "x"}}},
        {"key": "mode", "value": "x"},
        {"action": "accept", "content": ["x"]},
        {"action": "decline", "content": {"a": "x"}},
        [None, 1, "text"],
    ],
)
def test_what_only_sounds_like_a_secret_stays(value: Any) -> None:
    """A tool's parameter may be called password without being a secret."""
    assert Redactor().message(value) == value


@each_row(
    ("text", "shown"),
    [
        ('{"access_token": "s3cret", "a" : "b"}', '{"access_token": "redacted-1", "a" : "b"}'),
        ('data:{"token":"s\\"3"}', 'data:{"token":"redacted-1"}'),
        ('{"token": "\\x"}', '{"token": "redacted-1"}'),
        ("see https://h/?a=1&api_key=s3&b=2.", "see https://h/?a=1&api_key=redacted-1&b=2."),
        ("/messages?sessionId=s3cret", "/messages?sessionId=redacted-1"),
        ("token=s3cret", "token=redacted-1"),
        ("nothing", "nothing"),
    ],
)
def test_text_is_searched_for_json_and_queries(text: str, shown: str) -> None:
    """F-SHOW-8: also where JSON is not compact, is cut off, or stands in an event stream."""
    assert Redactor().text(text) == shown


@pytest.mark.parametrize("password", ["very s3cret", "very+s3cret"])
def test_the_password_in_basic_credentials_is_known_too(password: str) -> None:
    """F-AUTH-12: plain, and as RFC 6749 (section 2.3.1) has a client secret written."""
    redactor = Redactor()
    value = base64.b64encode(f"id:{password}".encode()).decode()
    (header,) = redactor.headers([("Authorization", f"Basic {value}")])
    assert value not in header[1]
    assert "s3cret" not in redactor.text("client secret very s3cret is wrong")


def nested(depth: int, innermost: Any) -> Any:
    """Objects and lists in turn around a value."""
    for level in range(depth):
        innermost = [innermost] if level % 2 else {"a": innermost}
    return innermost


def test_a_known_secret_is_no_name_of_a_member_either() -> None:
    """F-AUTH-12: as where a server counts by key who has called."""
    redactor = Redactor()
    redactor.name_of("long-s3cret")
    counts = {"calls": {"long-s3cret": 2, "https://h/?token=other": 1}, 3: None}
    assert redactor.message(counts) == {
        "calls": {"redacted-1": 2, "https://h/?token=redacted-2": 1},
        3: None,
    }


def test_a_deep_value_is_searched() -> None:
    """F-SHOW-6, F-AUTH-12"""
    shown = Redactor().message(nested(200, {"password": "s3cret"}))
    for level in reversed(range(200)):
        shown = shown[0] if level % 2 else shown["a"]
    assert shown == {"password": "redacted-1"}


def test_what_is_too_deep_or_contains_itself_is_not_shown() -> None:
    """F-SHOW-6, F-AUTH-12: nothing of it."""
    loop: list[Any] = []
    loop.append(loop)
    for value in (loop, nested(20_000, {"password": "s3cret"})):
        assert Redactor().message({"a": value}) == "(JSON nested too deeply to be written)"


def test_a_tuple_is_a_list() -> None:
    """F-AUTH-12: a caller may give one, and JSON knows no other."""
    message = {"tokens": ("s3cret", 1), "list": ({"password": "other"},)}
    assert Redactor().message(message) == {
        "tokens": ["redacted-1", 1],
        "list": [{"password": "redacted-2"}],
    }


@each_row(
    ("text", "shown"),
    [
        ('{"access_token": "s3c', '{"access_token": "redacted-1'),
        ('{"access_token": "s3c\\', '{"access_token": "redacted-1'),
        ('{"tokens": ["s3", "cret"]}', '{"tokens": ["redacted-1", "redacted-2"]}'),
        ('["{\\"token\\": \\"s3\\"}"]', '["{\\"token\\": \\"redacted-1\\"}"]'),
        ('"{\\"token\\":\\"s3\\"}"', '"{\\"token\\":\\"redacted-1\\"}"'),
        ('["ü","{\\"token\\":\\"s3\\"}"]', '["ü", "{\\"token\\":\\"redacted-1\\"}"]'),
        ('{"n":NaN,"a":1,"a":[ 2 ]}', '{"n":NaN,"a":1,"a":[ 2 ]}'),
        ("access_token=s3&scope=x", "access_token=redacted-1&scope=x"),
        ("a://u:s3%20@h and b://h:1/p@", "a://redacted-1:redacted-2@h and b://h:1/p@"),
    ],
)
def test_text_that_hides_more(text: str, shown: str) -> None:
    """F-AUTH-12: cut off, in lists, in JSON in JSON, in a form; and without a secret it stays."""
    assert Redactor().text(text) == shown


@each_row(
    "text",
    [
        'it is k3y/ü "it"',
        "GET /?q=k3y%2F%C3%BC+%22it%22",
        "GET /?q=k3y/%C3%BC%20%22it%22",
        'he said: k3y/ü \\"it\\".',
        '{"a": "k3y/\\u00fc \\"it\\""}',
    ],
)
def test_a_secret_is_known_however_it_is_spelled(text: str) -> None:
    """F-AUTH-12: in a URL as it was sent or otherwise, in a form, in JSON."""
    redactor = Redactor()
    assert redactor.url("/?q=k3y/%C3%BC%20%22it%22") == "/?q=redacted-1"
    assert "k3y" not in redactor.text(text)


def test_a_secret_that_is_no_text() -> None:
    """F-WIRE-7, F-AUTH-12: half of a character, which JSON can hold and UTF-8 cannot."""
    redactor = Redactor()
    assert redactor.message({"token": "long-s3cret-\ud800"}) == {"token": "redacted-1"}
    assert redactor.text("it was long-s3cret-\ud800.") == "it was redacted-1."


def test_a_key_given_as_a_user_without_a_password() -> None:
    """F-AUTH-12"""
    redactor = Redactor()
    value = base64.b64encode(b"long-s3cret:").decode()
    redactor.headers([("Authorization", f"Basic  {value}")])
    assert "s3cret" not in redactor.text("no user long-s3cret here")


@each_row("name", ["Mcp-Auth", "Sec-Mine", "Tracer", "Contents", "X-Accept"])
def test_what_only_sounds_like_a_known_header_is_a_secret(name: str) -> None:
    """F-AUTH-12"""
    assert Redactor().headers([(name, "s3cret")], sent=True) == [[name, "redacted-1"]]


def test_every_part_of_a_record() -> None:
    """F-AUTH-12: a cookie in quotes, the server's words for a status, bytes that are no UTF-8."""
    redactor = Redactor()
    redactor.headers([("Set-Cookie", 'a="long-s3cret"; Path=/')])
    record = {
        "http": {"status": 401, "reason": "no long-s3cret", "headers": []},
        "base64": base64.b64encode(b"\xff long-s3cret").decode(),
        "target": "mine?token=other",
    }
    assert redactor.record(record) == {
        "http": {"status": 401, "reason": "no redacted-1", "headers": []},
        "base64": base64.b64encode(b"\xff redacted-1").decode(),
        "target": "mine?token=redacted-2",
    }


@each_row(
    "text",
    [
        "git clone https://s3cret@github.example/x",
        "git clone https://s3cret:x-oauth-basic@github.example/x",
        "curl -H 'Authorization: Bearer s3cret' https://h",
        "authorization=Basic s3cret",
        '{"headers": "Authorization: s3cret"}',
        "use Bearer s3cret-123 for it",
        "API_KEY=s3cret npx server",
        "export GITHUB_TOKEN='s3cret with spaces'",
        "password: s3cret",
        "server --token s3cret --port 8",
        "server --api-key=s3cret",
        "pwd=s3cret;host=h",
        "Server=h;Pwd = s3cret",
        '{"a": 1, "password": "s3cret',
        "Cookie=s3cret",
        "tokens=s3cret-of-many",
        "-----BEGIN RSA PRIVATE KEY-----\ns3cret\n-----END RSA PRIVATE KEY-----",
        "it is ghp_s3cretS3CRETs3cret0123456789",
        "it is sk-ant-s3cret-0123456789abcdef",
        "it is eyJhbGciOiJub25lIn0.s3cret.x",
    ],
)
def test_secrets_in_running_text(text: str) -> None:
    """F-AUTH-12: the everyday forms, named or shaped like one."""
    shown = Redactor().text(text)
    assert "s3cret" not in shown
    assert "redacted-" in shown


@each_row(
    "text",
    [
        "Bearer authentication is needed",
        'Bearer error="insufficient_scope", scope="mcp:basic offline_access"',
        "scope mcp:basic Files.Read and user-profile",
        "token=${TOKEN} and key=<your key>",
        '"password": {"type": "string"}, "required": true',
        '{"input_tokens": 12, "max_tokens": 8}',
        "the author said: hello",
        "token_endpoint=https://as.example/token",
        "ping --port 80 --verbose on",
        "use --password true",
        "https://h:1/p?q=1",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert Redactor().text(text) == text


@each_row(
    ("text", "shown"),
    [
        ("Authorization: s3cret, x", "Authorization: redacted-1, x"),
        ("tried Bearer offline_access here", "tried Bearer redacted-1 here"),
        ("used total_tokens=12 and pin=12", "used total_tokens=12 and pin=redacted-1"),
        ("password='two words', x=1", "password='redacted-1', x=1"),
    ],
)
def test_what_stands_around_a_secret_stays(text: str, shown: str) -> None:
    """F-AUTH-12"""
    assert Redactor().text(text) == shown


@pytest.mark.parametrize("scheme", ["Basic", "basic", "proxy:Basic"])
@pytest.mark.parametrize("credentials", ["dXNlcjpwYXNz", "dXNlcjpw", "dTpwYXNzd28=", "dT1wLw-_"])
def test_basic_credentials_in_running_text(scheme: str, credentials: str) -> None:
    """F-AUTH-12: of either alphabet of base64, with padding and without."""
    assert (
        Redactor().text(f"tried {scheme} {credentials}, 401") == f"tried {scheme} redacted-1, 401"
    )


@each_row(
    "message",
    [
        {"pin": "s3cret"},
        {"pwd": ["s3cret"]},
        {"otp": {"a": [{"b": "s3cret"}]}},
        {"jwt": "s3cret", "auth": {"user": "s3cret"}},
        {"Auth-Token": {"value": "s3cret"}},
        {"env": [{"name": "API_KEY", "value": "s3cret"}]},
        {"headers": [{"key": "Authorization", "value": "s3cret"}]},
        {"args": ["--token", "s3cret"]},
        {"result": {"action": "accept", "content": {"name": "s3cret", "list": ["s3cret"]}}},
        {"inputResponses": {"a": {"action": "accept", "content": {"x": "s3cret"}}}},
        {"properties": {"password": "s3cret"}},
        {"properties": {"token": {"type": "string", "default": "s3cret", "enum": ["s3cret"]}}},
    ],
)
def test_whole_values_under_secret_names(message: Any) -> None:
    """F-AUTH-12: subtrees, pairs, options, and a user's answers."""
    assert "s3cret" not in json.dumps(Redactor().message(message))


def test_numbers_are_secrets_too() -> None:
    """F-AUTH-12: but not those that count tokens, and no truth value."""
    message = {"pin": 4711, "password": 1.5, "otp": [12], "usage": {"input_tokens": 7}}
    assert Redactor().message({**message, "auth": True, "token": None}) == {
        "pin": "redacted-1",
        "password": "redacted-2",
        "otp": ["redacted-3"],
        "usage": {"input_tokens": 7},
        "auth": True,
        "token": None,
    }


def test_a_parameter_header_repeats_a_secret_argument() -> None:
    """F-AUTH-12: whatever the header is called, and also where its value is encoded."""
    encoded = base64.b64encode("pässword".encode()).decode()
    headers = [
        ["Mcp-Param-Region", "hunter2"],
        ["Mcp-Param-Pin", "4711"],
        ["Mcp-Param-Other", f"=?base64?{encoded}?="],
        ["Mcp-Param-Plain", "eu"],
    ]
    arguments = {"password": "hunter2", "pin": 4711, "secret": "pässword", "region": "eu"}
    record = {
        "http": {"method": "POST", "target": "/mcp", "headers": headers},
        "message": {"method": "tools/call", "params": {"name": "x", "arguments": arguments}},
    }
    shown = Redactor().record(record)["http"]["headers"]
    assert [value for _, value in shown] == ["redacted-1", "redacted-2", "redacted-3", "eu"]


def test_the_values_of_variables() -> None:
    """F-AUTH-12: all of 8 characters and more, and shorter ones whose name says so."""
    redactor = Redactor()
    redactor.learn({"REGION": "eu-central-1", "MY_PIN": "4711", "MODE": "fast", "MY_KEY": "hunt"})
    shown = redactor.text("eu-central-1, 4711, 147112, fast, hunt")
    assert shown == "redacted-1, redacted-2, 147112, fast, redacted-3"
    odd: Any = {"SHORT": "7 chars", "LONG": "8 charac", "NUMBER": 123456789}
    redactor.learn(odd)  # a value that is not a string is refused where it is used
    assert redactor.text("7 chars, 8 charac") == "7 chars, redacted-4"


def test_a_text_without_the_values_of_variables() -> None:
    """F-AUTH-12: values of 8 characters and more, and shorter ones whose name says so."""
    variables = {"API_KEY": "s3cret-value", "PORT": "80", "PIN": "4321", "MODE": "fast"}
    text = without_values("no s3cret-value on 80, 4321 or 43210, fast", variables)
    assert text == "no ${API_KEY} on 80, ${PIN} or 43210, fast"


def test_a_secret_within_the_value_of_a_variable() -> None:
    """F-AUTH-12: it may turn up by itself."""
    redactor = Redactor()
    redactor.learn({"DATABASE": "postgres://me:long-s3cret@db/x"})
    assert "s3cret" not in redactor.text("refused: me and long-s3cret")
    assert "s3cret" not in redactor.text("with postgres://me:long-s3cret@db/x")


def test_a_server_cannot_fill_the_memory_of_secrets() -> None:
    """F-AUTH-12: what it names is replaced there, and one's own are known all the same."""
    redactor = Redactor()
    items = [{"token": f"made-up-s3cret-{index}"} for index in range(1500)]
    received = redactor.record({"direction": "received", "message": items})["message"]
    assert received[999] == {"token": "redacted-1000"}
    assert received[1000] == received[1499] == {"token": "redacted-0"}
    redactor.record({"direction": "sent", "message": {"token": "my-own-s3cret"}})
    shown = redactor.record({"direction": "received", "message": ["it was my-own-s3cret"]})
    assert shown["message"] == ["it was redacted-1001"]
    redactor.learn({"VARIABLE": "the-users-own"})
    assert redactor.text("it was the-users-own") == "it was redacted-1002"


def lines_run(function: Callable[[], object]) -> int:
    """Return how many lines of the package run in a call."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace if "recording" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["received", "sent"])
@pytest.mark.parametrize("shape", ["{}", "same-start-{}", "s" * 8 + "{}"])
def test_the_cost_grows_with_the_message_alone(direction: str, shape: str) -> None:
    """F-SHOW-8: however many secrets are named in it."""

    def steps(size: int) -> int:
        secrets = [{"token": shape.format(f"{index:08}")} for index in range(size)]
        message = [*secrets, *(item["token"] for item in secrets)]
        return lines_run(lambda: Redactor().record({"direction": direction, "message": message}))

    assert steps(400) < 2.3 * steps(200)
