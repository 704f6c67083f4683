from __future__ import annotations

from mcpclient.framing.headers import Headers
from mcpclient.framing.uri import parse_url
from mcpclient.net.cookies import CookieJar
from tests.support.tables import each_row

URL = "https://a.test/mcp/endpoint"
NOON = 784_111_777.0  # Sun, 06 Nov 1994 08:49:37 GMT


class Browser:
    """A jar, and a clock that a test moves."""

    def __init__(self) -> None:
        self.now = NOON
        self.jar = CookieJar(now=lambda: self.now)

    def receives(self, *fields: str, url: str = URL) -> None:
        self.jar.store(parse_url(url), Headers(("Set-Cookie", field) for field in fields))

    def sends(self, url: str = URL, own: str = "") -> str:
        return self.jar.header_for(parse_url(url), own)


@each_row(
    "url",
    [
        "https://b.test/mcp/endpoint",
        "https://sub.a.test/mcp/endpoint",
        "https://a.test:8443/mcp/endpoint",
        "http://a.test/mcp/endpoint",
        "wss://a.test/mcp/endpoint",
    ],
)
def test_no_other_origin_gets_them(url: str) -> None:
    """F-HTTP-14: the exact origin only, whatever Domain says."""
    browser = Browser()
    browser.receives("lb=1; Domain=a.test")
    assert browser.sends() == "lb=1"
    assert browser.sends(url) == ""


@each_row(
    ("domain", "taken"),
    [
        ("a.test", True),
        (".A.test", True),
        ("test", True),
        ("b.test", False),
        ("xa.test", False),
        ("est", False),
    ],
)
def test_a_cookie_for_a_foreign_domain_is_not_taken(domain: str, taken: bool) -> None:
    """F-HTTP-14: RFC 6265 section 5.3 step 6."""
    browser = Browser()
    browser.receives(f"lb=1; Domain={domain}")
    assert browser.sends() == ("lb=1" if taken else "")


def test_a_secure_cookie_is_taken_over_tls_only() -> None:
    """F-HTTP-14: whoever is on the wire cannot plant one."""
    browser = Browser()
    browser.receives("lb=1; Secure", url="http://a.test/mcp")
    browser.receives("lb=2; Secure")
    assert browser.sends("http://a.test/mcp") == ""
    assert browser.sends() == "lb=2"
    browser.receives("lb=3", url="http://a.test/mcp")
    assert browser.sends("http://a.test/mcp") == "lb=3"


@each_row(
    ("attribute", "path", "sent"),
    [
        ("", "/mcp", True),
        ("", "/mcp/other", True),
        ("", "/mcpx", False),
        ("", "/", False),
        ("Path=/", "/anything", True),
        ("Path=/mcp/", "/mcp", False),
        ("Path=/elsewhere", "/mcp/endpoint", False),
    ],
)
def test_the_path_decides_where_a_cookie_goes(attribute: str, path: str, sent: bool) -> None:
    """F-HTTP-14: RFC 6265 section 5.1.4, with the folder of the URL as the default."""
    browser = Browser()
    browser.receives(f"lb=1; {attribute}")
    assert browser.sends(f"https://a.test{path}?query") == ("lb=1" if sent else "")


@each_row(
    "attributes",
    [
        "Max-Age=60",
        "max-age=60; Expires=Sun, 06 Nov 1994 08:49:38 GMT",
        "Expires=Sun, 06 Nov 1994 08:50:37 GMT",
    ],
)
def test_a_cookie_ends_when_it_says(attributes: str) -> None:
    """F-HTTP-14: Max-Age goes before Expires."""
    browser = Browser()
    browser.receives(f"lb=1; {attributes}")
    browser.now += 59.9
    assert browser.sends() == "lb=1"
    browser.now += 0.1
    assert browser.sends() == ""


def test_no_cookie_makes_a_request_invalid() -> None:
    """F-HTTP-14: a name or value that no header carries is ignored."""
    browser = Browser()
    for field in ("", "lb", "=1", " =1; Path=/", "lb=a\x01b", "lb=" + "x" * 4096):
        browser.receives(field)
    assert browser.sends() == ""


def test_cookies_are_sent_in_the_order_they_were_set() -> None:
    """F-HTTP-14: whatever a value holds."""
    browser = Browser()
    browser.receives("b=1", 'a="x=/~\xe9"', "c=")
    assert browser.sends() == 'b=1; a="x=/~\xe9"; c='


def test_cookies_of_the_caller_go_first_and_win() -> None:
    """F-HTTP-14: in the one Cookie field, with nothing of the caller's changed."""
    browser = Browser()
    browser.receives("lb=1", "session=server")
    assert browser.sends(own="session=mine; x=y") == "session=mine; x=y; lb=1"


def test_a_cookie_that_is_over_takes_nobodys_place() -> None:
    """F-HTTP-14: where there are as many as are kept."""
    browser = Browser()
    for number in range(50):
        browser.receives(f"c{number}=x")
    browser.receives("gone=x; Max-Age=0")
    assert browser.sends().count("=x") == 50


def test_values_are_not_in_a_repr() -> None:
    """F-HTTP-14, F-AUTH-12: a cookie may be as good as a password."""
    browser = Browser()
    browser.receives("lb=secret")
    assert "secret" not in repr(browser.jar) + repr(vars(browser.jar))


def test_the_cookies_of_one_origin_are_bounded_in_size() -> None:
    """F-HTTP-14: fifty of 4 KB would be more than any server takes in a head."""
    jar = CookieJar()
    url = parse_url("http://a.example/mcp")
    for number in range(50):
        jar.store(url, Headers([("Set-Cookie", f"c{number}={'x' * 4000}; Path=/")]))
    header = jar.header_for(url)
    assert len(header) <= 32 * 1024
    assert "c49=" in header and "c0=" not in header
    jar.store(url, Headers([("Set-Cookie", f"far=1; Path=/{'x' * 60_000}")]))
    assert jar.header_for(url) == header
