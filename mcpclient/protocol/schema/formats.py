"""The values of ``format``, as tests of strings. They apply only where formats are asserted.

Source: JSON Schema Validation 2020-12, section 7.3, and the RFC named at each. Of an
internationalized hostname only its shape is checked, not the tables of IDNA.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from ipaddress import IPv6Address

from ...errors import TemplateError
from ...formats.uri_template import variable_names
from .pattern_syntax import PatternError, UncheckablePattern, parse_pattern

Matches = Callable[[str], bool]


# All expressions here are our own, and none can backtrack far. They stay text until their first
# use, because most clients assert no formats; then ``re`` keeps them compiled.


def _expression(pattern: str) -> Matches:
    return lambda text: re.fullmatch(pattern, text) is not None


# Dates and times: RFC 3339, section 5.6 and appendix A.

_DATE = r"(?a)(\d{4})-(\d\d)-(\d\d)"
_TIME = r"(?ai)(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))"
_MONTH_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _is_date(text: str) -> bool:
    match = re.fullmatch(_DATE, text)
    if match is None:
        return False
    year, month, day = (int(number) for number in match.groups())
    if not 1 <= month <= 12 or not 1 <= day <= _MONTH_DAYS[month - 1]:
        return False
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return (month, day) != (2, 29) or leap


def _is_time(text: str) -> bool:
    match = re.fullmatch(_TIME, text)
    if match is None:
        return False
    hour, minute, second = (int(number) for number in match.group(1, 2, 3))
    sign, offset_hour, offset_minute = match.group(4, 5, 6)
    offset = (int(offset_hour or 0), int(offset_minute or 0))
    if hour > 23 or minute > 59 or second > 60 or offset > (23, 59) or offset[1] > 59:
        return False
    if second < 60:
        return True
    # A leap second is inserted at the end of a day in UTC.
    shift = offset[0] * 60 + offset[1]
    in_utc = hour * 60 + minute + (shift if sign == "-" else -shift)
    return in_utc % (24 * 60) == 23 * 60 + 59


def _is_date_time(text: str) -> bool:
    return text[10:11] in ("T", "t") and _is_date(text[:10]) and _is_time(text[11:])


_is_duration = _expression(
    r"(?a)P(?!\Z)(?:\d+W|(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)?"
    r"(?:T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))?)"
)

# Hosts: RFC 1123, RFC 2673, RFC 4291.

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_IDN_LABEL = r"[^\W_](?:[\w\u00b7\u0375\u05f3\u05f4\u200c\u200d\u30fb-]*\w)?"
_IDN_DOTS = "[.\u3002\uff0e\uff61]"
_is_ipv4 = _expression(r"(?a)(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!\Z)|\Z)){4}")


def _is_host(text: str, plain: str = _LABEL, dots: str = "[.]") -> bool:
    labels = re.split(dots, text)
    for label in labels:
        # Two hyphens in this place are kept for encodings, of which one is in use.
        reserved = label[2:4] == "--" and label[:4].lower() != "xn--"
        if len(label) > 63 or reserved or not re.fullmatch(plain, label):
            return False
    return len(text) <= 253


def _is_idn_host(text: str) -> bool:
    return _is_host(text, _IDN_LABEL, _IDN_DOTS)


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text  # a zone is not part of the format


# Mail addresses: RFC 5321, and RFC 6531 for other letters.

_LOCAL = r"(?a)[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*"
_IDN_LOCAL = (
    r"[\w!#$%&'*+/=?^`{|}~\u0080-\U0010ffff-]+(?:\.[\w!#$%&'*+/=?^`{|}~\u0080-\U0010ffff-]+)*"
)
_QUOTED = r'"(?:[^"\\\x00-\x1f\x7f]|\\[ -~])*"'


def _is_address(text: str, plain: str, is_host: Matches) -> bool:
    local, at, host = text.rpartition("@")
    if not at or not (re.fullmatch(plain, local) or re.fullmatch(_QUOTED, local)):
        return False
    if host.startswith("[") and host.endswith("]"):
        literal = host[1:-1]
        return _is_ipv6(literal[5:]) if literal[:5].lower() == "ipv6:" else _is_ipv4(literal)
    return is_host(host)


# URIs and IRIs: RFC 3986, RFC 3987.

# Without a scheme, no colon comes first.
_URI = (
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):|(?![^:/?#]*:))"
    r"(?://(?P<authority>[^/?#]*))?[^?#\[\]]*(?:\?[^#\[\]]*)?(?:#[^#\[\]]*)?"
)
_NOT_URI = r"[^!#-;=?-\[\]_a-z~]|%(?![0-9A-Fa-f]{2})"
_NOT_IRI = r'[\x00-\x20"<>\\^`{|}\x7f-\x9f\ud800-\udfff]|%(?![0-9A-Fa-f]{2})'
_HOST_AND_PORT = r"(?:\[(?P<literal>[^\[\]]*)\]|[^:\[\]]*)(?::[0-9]*)?"
_FUTURE = r"(?i)v[0-9A-Fa-f]+\.[^\[\]/]+"


def _is_uri(text: str, forbidden: str, *, may_be_relative: bool = False) -> bool:
    match = re.fullmatch(_URI, text)
    if match is None or re.search(forbidden, text):
        return False
    if not may_be_relative and match["scheme"] is None:
        return False
    user, _, host = (match["authority"] or "").rpartition("@")
    parts = re.fullmatch(_HOST_AND_PORT, host)
    if parts is None or "[" in user or "]" in user or "@" in user:
        return False
    literal = parts["literal"]
    return literal is None or _is_ipv6(literal) or re.fullmatch(_FUTURE, literal) is not None


def _is_uri_template(text: str) -> bool:
    try:
        variable_names(text)
    except TemplateError:
        return False
    return True


def _is_regex(text: str) -> bool:
    try:
        parse_pattern(text)
    except PatternError as error:
        return isinstance(error, UncheckablePattern)
    return True


_POINTER = r"(?:/(?:[^~/]|~[01])*)*"

FORMATS: Mapping[str, Matches] = {
    "date-time": _is_date_time,
    "date": _is_date,
    "time": _is_time,
    "duration": _is_duration,
    "email": lambda text: text.isascii() and _is_address(text, _LOCAL, _is_host),
    "idn-email": lambda text: _is_address(text, _IDN_LOCAL, _is_idn_host),
    "hostname": _is_host,
    "idn-hostname": _is_idn_host,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "uri": lambda text: _is_uri(text, _NOT_URI),
    "uri-reference": lambda text: _is_uri(text, _NOT_URI, may_be_relative=True),
    "iri": lambda text: _is_uri(text, _NOT_IRI),
    "iri-reference": lambda text: _is_uri(text, _NOT_IRI, may_be_relative=True),
    "uuid": _expression(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
    "uri-template": _is_uri_template,
    "json-pointer": _expression(rf"(?s){_POINTER}"),
    "relative-json-pointer": _expression(rf"(?s)(?:0|[1-9][0-9]*)(?:#|{_POINTER})"),
    "regex": _is_regex,
}
