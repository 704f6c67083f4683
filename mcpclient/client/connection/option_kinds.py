"""The kinds of values that options take, and the check of a caller's options.

`connect`, a manager, a toolbox and their blocking twins check their options here, before anything
is opened, so that a mistake is reported where it was made.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Callable, NamedTuple

from ...errors import UsageError
from .limits import Default


class Kind(NamedTuple):
    """A kind of values: ``words`` follow "must be", and ``fits`` recognizes them."""

    words: str
    fits: Callable[[Any], bool]
    is_optional: bool = True

    def required(self) -> Kind:
        """Return the kind without None."""
        return self._replace(is_optional=False)


def check_options(given: Mapping[str, object], known: Mapping[str, Kind]) -> None:
    """Raise `UsageError` for an option that does not exist, or has a value of a wrong kind."""
    for name, value in given.items():
        if name not in known:
            check_names([name], known)
        words, fits, is_optional = known[name]
        if not (value is None and is_optional) and not fits(value):
            raise UsageError(f"{name} must be {words}, not {_shown(value)}")


def check_names(given: Collection[str], known: Collection[str]) -> None:
    """Raise `UsageError` for an unknown option, with a suggestion."""
    for name in given:
        if name not in known:
            from ...suggestions import there_is_no

            raise UsageError(there_is_no("option", name, known))


def _shown(value: object) -> str:
    """Return the kind of a value, or a value that cannot be a secret."""
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, (int, float)):
        return f"{value!r:.40}"
    return _PLAIN.get(type(value), f"an object of the class {type(value).__name__}")


_PLAIN: Mapping[type, str] = {
    **{str: "a string", bytes: "bytes", dict: "a mapping", list: "a list", tuple: "a tuple"}
}


def object_of(*names: str) -> Kind:
    """Return the kind of the objects of some classes, which are known by name.

    So a check imports nothing, and holds in a copy of this package that lacks the class.
    """
    article = "an" if names[0][0] in "AEIOU" else "a"
    return Kind(
        f"{article} {' or '.join(names)}",
        lambda value: any(each.__name__ in names for each in type(value).__mro__),
    )


def function_of(count: int, words: str) -> Kind:
    """Return the kind of functions that can be called with so many arguments."""
    return Kind(words, lambda value: callable(value) and _takes(value, count))


def _takes(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # a built-in function without a signature
        return True
    return True


def one_of(*values: str) -> Kind:
    """Return the kind of a few strings."""
    shown = ", ".join(f'"{each}"' for each in values[:-1])
    return Kind(f'{shown} or "{values[-1]}"', lambda value: value in values)


def any_of(words: str, *kinds: Kind) -> Kind:
    """Return the kind of values that are of one of some kinds."""
    return Kind(words, lambda value: any(kind.fits(value) for kind in kinds))


def list_of(words: str, kind: Kind) -> Kind:
    """Return the kind of sequences, and no strings, whose items are of a kind."""
    return Kind(
        words,
        lambda value: (
            isinstance(value, Sequence)
            and not isinstance(value, (str, bytes))
            and all(map(kind.fits, value))
        ),
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


ANY = Kind("any object", lambda value: True)
"""A value that is checked at once where it is used, with a message of its own."""
FLAG = Kind("True or False", lambda value: isinstance(value, bool))
NUMBER = Kind("a number, 0 or more", _is_number)
SECONDS = Kind(
    "a number of seconds, 0 or more", lambda value: isinstance(value, Default) or _is_number(value)
)
COUNT = Kind(
    "a whole number, 1 or more",
    lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0,
)
STRING = Kind("a string", lambda value: isinstance(value, str))
MAPPING = Kind("a mapping", lambda value: isinstance(value, Mapping))
PATH = Kind("a path", lambda value: isinstance(value, (str, os.PathLike)))
FUNCTION = Kind("a function", callable)
PATTERNS = list_of("a list of patterns", STRING)

_STRINGS = Kind(
    "a mapping of strings to strings",
    lambda value: (
        isinstance(value, Mapping)
        and all(isinstance(each, str) for pair in value.items() for each in pair)
    ),
)
_FUNCTION_OF_ONE = function_of(1, "a function of one argument")

CLIENT_OPTIONS: Mapping[str, Kind] = {
    **dict.fromkeys(("timeout", "max_timeout", "connect_timeout"), SECONDS),
    "close_timeout": NUMBER.required(),
    **dict.fromkeys(("auth", "proxy", "transport", "validate", "audit", "stderr"), ANY),
    **dict.fromkeys(("sampling", "elicitation", "roots"), ANY),
    **dict.fromkeys(("strict_version", "cache", "tasks", "retry_busy", "verify", "trusted"), FLAG),
    **dict.fromkeys(("listen_wait", "liveness", "keep_alive"), NUMBER),
    **dict.fromkeys(("ping_interval", "ping_timeout"), NUMBER),
    **dict.fromkeys(("ca_file", "unix_socket", "cwd"), PATH),
    **dict.fromkeys(("protocol_version", "name"), STRING),
    **dict.fromkeys(("extensions", "client_info"), MAPPING),
    **dict.fromkeys(("on_log", "on_error", "on_close"), _FUNCTION_OF_ONE),
    "on_notification": function_of(2, "a function of method and params"),
    "limits": object_of("ServerLimits"),
    "reconnect": object_of("Reconnect"),
    "max_message_size": COUNT,
    "schema_limits": object_of("SchemaLimits"),
    "headers": any_of("a mapping, a function or a HeadersFrom", _STRINGS, FUNCTION),
    "client_cert": any_of(
        "a path or a tuple", PATH, Kind("", lambda each: isinstance(each, tuple))
    ),
    "ssl_context": object_of("SSLContext"),
    "proxy_auth": object_of("Negotiate"),
    "env": _STRINGS,
    "inherit_env": one_of("safe", "all", "none").required(),
    "stop_ladder": object_of("StopLadder"),
    "sandbox": any_of('a Sandbox or "required"', object_of("Sandbox"), one_of("required", "")),
    "hooks": object_of("Hooks"),
    "trace": any_of("a path or a function", PATH, FUNCTION),
    "around": list_of("a list of functions", FUNCTION),
}
"""The options of `ClientOptions`, without importing what documents them."""
