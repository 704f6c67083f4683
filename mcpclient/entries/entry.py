"""One server's entry as written, read by the tables into one shape; nothing is expanded yet."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import safe_repr
from ..suggestions import did_you_mean, there_are
from .applications import Application
from .fields import (
    FIELDS,
    IGNORED,
    NAMING_STYLES,
    RESTRICTIVE,
    TRANSPORT_NAMES,
    NamingStyle,
    is_comment,
    restrictions_in,
)

_CONTROL = re.compile(r"[\x01-\x1f]")
# In seconds; more is likely a number of milliseconds.
_MAX_TIME, _MAX_ASSUMED_TIME = 3600.0, 999.0

Report = Callable[..., None]
"""Called as ``report(message, *path, hint=…)`` with each warning about an entry."""


class EntryError(ValueError):
    """An entry that cannot be used. ``path``: the field, and where in it; ``hint``: what to do."""

    def __init__(self, message: str, *path: str | int, hint: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.hint = hint


def _text(given: Any, key: str, application: Any, report: Report) -> str:
    if not isinstance(given, str):
        raise EntryError(f"must be a string, not {kind_of_value(given)}", key)
    _check_text(given, key)
    return given


def _ignore(message: str, *path: str | int, hint: str = "") -> None:
    """Drop a warning."""


def read_words(
    given: Any, key: str, application: Any = None, report: Report = _ignore
) -> list[str]:
    """Return a list of strings. Raises `EntryError` for anything else."""
    if not isinstance(given, list):
        raise EntryError(f"must be a list of strings, not {kind_of_value(given)}", key)
    return [_as_text(item, report, key, index) for index, item in enumerate(given)]


def _command_words(given: Any, key: str, application: Any, report: Report) -> list[str]:
    if isinstance(given, str):
        _check_text(given, key)
        words = [given] if given.strip() else []
    else:
        words = read_words(given, key, application, report)
    if words and not words[0].strip():
        raise EntryError("the first word, the program, is empty", key, 0)
    if words and _CONTROL.search(words[0]):
        hint = "JSON reads \\t and \\n as such; a backslash is written \\\\"
        raise EntryError("the program has a tab or the end of a line in its name", key, hint=hint)
    return words


def _texts(given: Any, key: str, application: Any, report: Report) -> dict[str, str]:
    if isinstance(given, list):  # as some write them: [{"name": …, "value": …}]
        pairs = {
            item["name"]: item.get("value")
            for item in given
            if isinstance(item, Mapping) and isinstance(item.get("name"), str)
        }
        if len(pairs) != len(given):
            raise EntryError("must be an object, not a list", key)
        given = pairs
    if not isinstance(given, Mapping):
        raise EntryError(f"must be an object, not {kind_of_value(given)}", key)
    found = {}
    for name, value in given.items():
        if not name.strip() or "\0" in name or "=" in name or "\n" in name or "\r" in name:
            raise EntryError("a name is empty, or holds = or a control character", key)
        if value is None:
            report("null gives it no value, so it is left out", key, name)
            continue
        found[name] = _as_text(value, report, key, name)
    return found


def _flag(given: Any, key: str, application: Any, report: Report) -> bool:
    if isinstance(given, str) and given.lower() in ("true", "false"):
        report(f"a string that says {given.lower()}", key, hint="write it without quotes")
        return given.lower() == "true"
    if not isinstance(given, bool):
        raise EntryError(f"must be true or false, not {kind_of_value(given)}", key)
    return given


def _time(given: Any, key: str, application: Application, report: Report) -> float | None:
    if application.seconds is None:
        return _seconds(given, key, application, report, longest=_MAX_ASSUMED_TIME)
    return _seconds(given, key, application, report, application.seconds)


def _milliseconds(given: Any, key: str, application: Any, report: Report) -> float | None:
    return _seconds(given, key, application, report, 0.001)


def _seconds(
    given: Any,
    key: str,
    application: Any,
    report: Report,
    unit: float = 1.0,
    *,
    longest: float = _MAX_TIME,
) -> float | None:
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given <= 1e12:
        report(
            f"a number that is not negative, not {kind_of_value(given)}; the usual limit holds", key
        )
        return None
    seconds = float(given) * unit
    if unit == 1.0 and seconds > longest:
        report("that many seconds are a long time", key, hint="is it meant in milliseconds?")
    return seconds


def _any(given: Any, key: str, application: Any, report: Report) -> Any:
    return given


READERS: dict[str, Callable[[Any, str, Application, Report], Any]] = {
    "text": _text,
    "words": read_words,
    "command": _command_words,
    "texts": _texts,
    "flag": _flag,
    "time": _time,
    "seconds": _seconds,
    "milliseconds": _milliseconds,
    "any": _any,
}


def _as_text(value: Any, report: Report, *path: str | int) -> str:
    """Return a string; a number or a boolean becomes one, with a warning."""
    if isinstance(value, (bool, int, float)):
        report(f"{kind_of_value(value)} is taken as a string", *path, hint="write it in quotes")
        return str(value).lower() if isinstance(value, bool) else str(value)
    if not isinstance(value, str):
        raise EntryError(f"must be a string, not {kind_of_value(value)}", *path)
    _check_text(value, *path)
    return value


def _check_text(text: str, *path: str | int) -> None:
    if "\0" in text:
        raise EntryError("strings cannot contain NUL characters", *path)


def kind_of_value(value: Any) -> str:
    """Return the kind of a JSON value in words, never the value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, (list, tuple)):
        return "a list"
    return "an object" if isinstance(value, Mapping) else type(value).__name__


_MAX_TOLD = 20  # unknown fields of one entry


@dataclass(frozen=True)
class Entry:
    """One server as written: either ``command`` is given, or ``url``.

    ``fields``: under which name of the file each of them stands. ``env_names``: variables to pass
    on. ``header_variables``: the variable for each header. ``headers_helper``: a line for a shell
    that prints headers. ``tools`` that are let through are in ``include`` and ``exclude``.
    ``restrictions``: what the entry forbids, by the names of its fields. Times are in seconds.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str | None = None
    transport: str | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    env_names: tuple[str, ...] = ()
    env_file: str | None = None
    cwd: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    header_variables: Mapping[str, str] = field(default_factory=dict)
    bearer_variable: str | None = None
    headers_helper: str | None = field(default=None, repr=False)
    oauth: Mapping[str, Any] | str | None = field(default=None, repr=False)
    enabled: bool = True
    lazy: bool = False
    trusted: bool = False
    timeout: float | None = None
    connect_timeout: float | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    naming: NamingStyle | None = None
    restrictions: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)


def read_entry(name: str, entry: Any, application: Application, report: Report) -> Entry:
    """Read one entry. Warnings go to ``report``; raises `EntryError` when it cannot be used."""
    if not isinstance(entry, Mapping):
        raise EntryError(f"an entry must be an object, not {kind_of_value(entry)}")
    entry = _flattened(entry)
    _report_unknown(entry, report)
    values, names = _given_values(entry, application, report)
    if values.get("bearer_token") is not None:
        raise EntryError(
            "tokens in configuration files are ignored",
            "bearer_token",
            hint="use bearer_token_env_var, the name of a variable that holds it",
        )
    return Entry(
        name=name,
        **_reach(entry, values, names, application, report),
        **_switches(values, names),
        **_filters(values, names),
        naming=_naming(values.get("naming"), names),
        restrictions=restrictions_in(entry),
        fields=names,
    )


def _flattened(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an entry with the fields that some applications write one level further down."""
    command, request = entry.get("command"), entry.get("requestOptions")
    if isinstance(command, Mapping):  # as Zed once wrote it
        entry = {**entry, **command, "command": command.get("path")}
    if isinstance(request, Mapping):  # as Continue does
        entry = {"headers": request.get("headers"), **entry}
        del entry["requestOptions"]
    return entry


def unknown_fields(entry: Mapping[str, Any]) -> list[str]:
    """Return the keys of an entry that are not fields of a server."""
    known = FIELDS.keys() | IGNORED | RESTRICTIVE | {"path"}
    return [
        key
        for key, value in entry.items()
        if value is not None and key not in known and not is_comment(key)  # Goose writes nulls
    ]


def _report_unknown(entry: Mapping[str, Any], report: Report) -> None:
    for key in unknown_fields(entry)[:_MAX_TOLD]:
        hint = did_you_mean(key, FIELDS) or "it changes nothing"
        report(f"{safe_repr(key)} is not a field of a server", key, hint=hint)


def _given_values(
    entry: Mapping[str, Any], application: Application, report: Report
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the given values by the names used here, and the names that they have in the file."""
    values: dict[str, Any] = {}
    names: dict[str, str] = {}
    for key, known in FIELDS.items():
        given = entry.get(key)
        if given is None:
            continue
        if known.name in values:
            report(f"{names[known.name]} counts, since both are given", key, hint="remove one")
            continue
        if known.kind == "time" and application.limits_start:
            known = FIELDS["connect_timeout"]._replace(kind="time")
        values[known.name] = READERS[known.kind](given, key, application, report)
        names[known.name] = key
    return values, names


def _reach(
    entry: Mapping[str, Any],
    values: dict[str, Any],
    names: dict[str, str],
    application: Application,
    report: Report,
) -> dict[str, Any]:
    """Return how the server is reached: by a command or at a URL, never both."""
    transport = _transport(values.get("transport"), names, application)
    command, url = values.get("command"), values.get("url")
    if not command and not url:
        keys = list(entry)[:_MAX_TOLD]
        wrong = next((key for key in keys if did_you_mean(key, ("command", "url"))), None)
        hint = "give one of them"
        if wrong is not None and wrong not in FIELDS:
            hint = did_you_mean(wrong, ("command", "url"))
        if "settings" in entry and application.name == "zed":
            hint = "its command is made by an extension of Zed"
        raise EntryError(
            "a server needs a command or a url", *_given(names, command, url), hint=hint
        )
    is_remote = not command or (bool(url) and transport not in (None, "stdio"))
    if transport is not None and is_remote is (transport == "stdio"):
        needed = "url" if command else "command"
        raise EntryError(f"its type needs a {needed}", names["transport"])
    _report_useless(values, names, is_remote, application, report)
    if not is_remote:
        return {
            "command": _command(command or [], values, application, report),
            "env": values.get("env", {}),
            "env_names": tuple(_env_names(values.get("env_names"), names)),
            "env_file": values.get("env_file"),
            "cwd": values.get("cwd"),
        }
    if transport is None and "transport" not in names:
        transport = "http" if names["url"] == "httpUrl" else application.url_transport
    return {
        "url": url,
        "transport": transport,
        "headers": values.get("headers", {}),
        "header_variables": values.get("header_variables", {}),
        "bearer_variable": values.get("bearer_variable"),
        "headers_helper": values.get("headers_helper"),
        "oauth": _oauth(values.get("oauth"), values.get("oauth_scopes"), names),
    }


def _given(names: dict[str, str], command: Any, url: Any) -> list[str]:
    """The field that is there and empty, where there is one."""
    return [
        names[name] for name, value in (("command", command), ("url", url)) if value is not None
    ][:1]


def _transport(named: str | None, names: dict[str, str], application: Application) -> str | None:
    if named is None:
        return None
    spelled = named.strip().lower()
    if spelled not in TRANSPORT_NAMES:
        hint = did_you_mean(spelled, TRANSPORT_NAMES) or there_are(TRANSPORT_NAMES)
        raise EntryError(f"{safe_repr(named)} is not a transport", names["transport"], hint=hint)
    transport = TRANSPORT_NAMES[spelled]
    return None if transport == "http" and application.http_falls_back else transport


def _report_useless(
    values: dict[str, Any],
    names: dict[str, str],
    is_remote: bool,
    application: Application,
    report: Report,
) -> None:
    """Warn about fields for the other kind of server; some applications write empty ones."""
    useless, what = ("stdio", "a url") if is_remote else ("remote", "a command")
    for name, spelled in names.items():
        if FIELDS[spelled].side != useless:
            continue
        if application.strict:
            raise EntryError(f"{spelled} is not supported beside {what}", spelled)
        if values[name]:
            report(f"{spelled} cannot be combined with {what}", spelled, hint="remove it")


def _command(
    words: list[str], values: dict[str, Any], application: Application, report: Report
) -> tuple[str, ...]:
    """Return the whole command. A string that is a whole line is split, with a warning."""
    first, *rest = words
    if re.match(r"(?i)(?:https?|wss?)://", first):
        raise EntryError("its command is a URL", "command", hint='write it as "url"')
    if not rest and " " in first.strip() and not re.search(r"[/\\$]", first.split()[0]):
        try:
            words = shlex.split(first)
        except ValueError:
            raise EntryError("it is a line with quotes that do not close", "command") from None
        report("a whole line is split into words", "command", hint="give its words as args")
    return (*words, *values.get("args", ()))


def _env_names(given: Any, names: dict[str, str]) -> Iterator[str]:
    """Yield the names of variables to pass on, given as such or as ``{"name": …}``."""
    if given is None:
        return
    for index, item in enumerate(given if isinstance(given, list) else [given]):
        name = item.get("name") if isinstance(item, Mapping) else item
        if not isinstance(name, str) or not name:
            raise EntryError(
                "must be a list of names of environment variables", names["env_names"], index
            )
        yield name


def _oauth(given: Any, scopes: Any, names: dict[str, str]) -> Mapping[str, Any] | str | None:
    """Return the options of a login; ``scopes`` beside them limit it as those among them do."""
    limit = {} if scopes is None else {"scopes": scopes}
    if isinstance(given, str) and (given.lower() != "oauth" or not limit):
        return given or None
    if given is None or isinstance(given, (bool, str)):
        return limit if given or (limit and given is not False) else None
    if not isinstance(given, Mapping):
        raise EntryError(f"must be an object, not {kind_of_value(given)}", names["oauth"])
    return None if given.get("enabled") is False else {**limit, **given}


def _switches(values: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {
        "enabled": values.get("enabled", True) and not values.get("disabled", False),
        "lazy": values.get("lazy", False),
        "trusted": values.get("trusted", False),
        "timeout": values.get("timeout"),
        "connect_timeout": values.get("connect_timeout"),
    }


def _filters(values: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return which tools are let through; ``tools`` is a list of them, or has both lists."""
    include, exclude = list(values.get("include", ())), list(values.get("exclude", ()))
    tools = values.get("tools")
    if isinstance(tools, Mapping):
        for name, chosen in (("include", include), ("exclude", exclude)):
            chosen += read_words(tools.get(name) or [], names["tools"])
        # `{"name": false}` and `{"name": {"enabled": false}}` switch single tools off.
        for tool, setting in tools.items():
            enabled = setting.get("enabled") if isinstance(setting, Mapping) else setting
            exclude += [tool] if enabled is False else []
    elif tools is not None:
        include += read_words(tools, names["tools"])
    if include == ["*"]:
        include = []
    return {"include": tuple(include), "exclude": tuple(exclude)}


def _naming(given: str | None, names: dict[str, str]) -> NamingStyle | None:
    """Return how the full names of the server's tools are made, where the entry says it."""
    for style in NAMING_STYLES:
        if given == style:
            return style
    if given is None:
        return None
    hint = did_you_mean(given, NAMING_STYLES) or there_are(NAMING_STYLES)
    raise EntryError(f"{safe_repr(given)} is not a way to name tools", names["naming"], hint=hint)
