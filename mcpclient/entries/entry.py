"""One server's entry in the same form for all applications, with variables not yet expanded."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ..errors import UsageError, safe_repr
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
from .server_limits import ServerLimits

_CONTROL = re.compile(r"[\x01-\x1f]")
_VARIABLE = re.compile(r"[^{}:\0]+")
# In seconds; more is likely a number of milliseconds.
_MAX_TIME, _MAX_ASSUMED_TIME = 3600.0, 999.0
_MAX_TOLD = 20  # unknown fields of one entry

Report = Callable[..., None]
"""Called as ``report(message, *path, hint=…)`` with each warning about an entry."""


class EntryError(ValueError):
    """An entry that cannot be used. ``path``: the field, and where in it; ``hint``: what to do."""

    def __init__(self, message: str, *path: str | int, hint: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.hint = hint


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


def not_a(expected: str, value: Any, *path: str | int) -> EntryError:
    """Return the error for a value of another kind than expected."""
    return EntryError(f"must be {expected}, not {kind_of_value(value)}", *path)


def _reference(name: object, *path: str | int) -> str:
    if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
        raise EntryError("must be names of environment variables", *path)
    return f"${{env:{name}}}"


def _one_of(known: Collection[str], given: str, what: str, key: str) -> str:
    if given not in known:
        hint = did_you_mean(given, known) or there_are(known)
        raise EntryError(f"{safe_repr(given)} is not {what}", key, hint=hint)
    return given


@dataclass(frozen=True)
class Entry:
    """One server as written: either ``command`` is given, or ``url``.

    ``fields``: the file's name for each field. ``env`` and ``headers`` refer to the variables that
    other fields name. ``headers_helper``: a line for a shell that prints headers. ``tools`` that
    are let through are in ``include`` and ``exclude``. ``bundle``: the file that the command is
    from, and ``sha256`` the digest of that file. ``limits``: of its calls.
    ``restrictions``: what the entry forbids, by the names of its fields. Times are in seconds.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str | None = None
    transport: str | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    env_file: str | None = None
    cwd: str | None = None
    bundle: str | None = None
    sha256: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
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
    limits: ServerLimits | None = None
    restrictions: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)


# The fields that an entry has as they were read, by the kind of server.
_OF_PROCESS = ("env", "env_file", "cwd", "bundle", "sha256")
_OF_BOTH = ("lazy", "trusted", "timeout", "connect_timeout", "naming")
# Kinds of fields that name variables: they add to the values that are given beside them.
_VARIABLES = ("names", "references", "bearer")
_FIELDS = FIELDS.keys() | IGNORED | RESTRICTIVE | {"path"}


def read_entry(name: str, entry: Any, application: Application, report: Report) -> Entry:
    """Read one entry. Warnings go to ``report``; raises `EntryError` when it cannot be used."""
    if not isinstance(entry, Mapping):
        raise EntryError(f"an entry must be an object, not {kind_of_value(entry)}")
    command, request = entry.get("command"), entry.get("requestOptions")
    if isinstance(command, Mapping):  # as Zed once wrote it
        entry = {**entry, **command, "command": command.get("path")}
    if isinstance(request, Mapping):  # as Continue does
        entry = {"headers": request.get("headers"), **entry}
        del entry["requestOptions"]
    for key in unknown_fields(entry)[:_MAX_TOLD]:
        hint = did_you_mean(key, FIELDS) or "it changes nothing"
        report(f"{safe_repr(key)} is not a field of a server", key, hint=hint)
    return EntryReader(entry, application, report).read(name)


def unknown_fields(entry: Mapping[str, Any]) -> list[str]:
    """Return the keys of an entry that are not fields of a server."""
    return [
        key
        for key, value in entry.items()
        if value is not None and key not in _FIELDS and not is_comment(key)  # Goose writes nulls
    ]


@dataclass(repr=False)
class EntryReader:
    """Reads the fields of one entry.

    ``values``: what was given, by the names used here; ``names``: those that it has in the file.
    """

    entry: Mapping[str, Any]
    application: Application
    report: Report
    values: dict[str, Any] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def read(self, name: str) -> Entry:
        """Return the entry of a server. Raises `EntryError`."""
        self._read_fields()
        values = self.values
        if values.get("bearer_token") is not None:
            raise EntryError(
                "tokens in configuration files are ignored",
                "bearer_token",
                hint="use bearer_token_env_var, the name of a variable that holds it",
            )
        reach = self._reach()
        include, exclude = self._filters()
        return Entry(
            name=name,
            **reach,
            **self._given(*_OF_BOTH),
            enabled=values.get("enabled", True) and not values.get("disabled", False),
            include=tuple(include),
            exclude=tuple(exclude),
            limits=self._limits(),
            restrictions=restrictions_in(self.entry),
            fields=self.names,
        )

    def _read_fields(self) -> None:
        for key, known in FIELDS.items():
            given = self.entry.get(key)
            if given is None:
                continue
            if known.kind in _VARIABLES:
                read = READERS[known.kind](self, given, key)
                self.values[known.name] = {**read, **self.values.get(known.name, {})}
                self.names.setdefault(known.name, key)
                continue
            if known.name in self.values:
                other = self.names[known.name]
                self.report(f"{other} counts, since both are given", key, hint="remove one")
                continue
            if known.kind == "time" and self.application.limits_start:
                known = FIELDS["connect_timeout"]._replace(kind="time")
                if isinstance(given, Mapping):  # in OpenCode 2, the one for calls is beside it
                    if "request" in given:
                        self.values["timeout"] = self._time(given["request"], key)
                    if (given := given.get("startup")) is None:
                        continue
            self.values[known.name] = READERS[known.kind](self, given, key)
            self.names[known.name] = key

    def _given(self, *names: str) -> dict[str, Any]:
        return {name: self.values[name] for name in names if name in self.values}

    # The kinds of values

    def _text(self, given: Any, key: str) -> str:
        if not isinstance(given, str):
            raise not_a("a string", given, key)
        return self._as_text(given, key)

    def _words(self, given: Any, key: str) -> list[str]:
        if not isinstance(given, list):
            raise not_a("a list of strings", given, key)
        return [self._as_text(item, key, index) for index, item in enumerate(given)]

    def _command(self, given: Any, key: str) -> list[str]:
        if isinstance(given, str):
            words = [self._text(given, key)] if given.strip() else []
        else:
            words = self._words(given, key)
        if words and not words[0].strip():
            raise EntryError("the first word, the program, is empty", key, 0)
        if words and _CONTROL.search(words[0]):
            hint = "JSON reads \\t and \\n as such; a backslash is written \\\\"
            raise EntryError("the program's name has a tab or the end of a line", key, hint=hint)
        return words

    def _texts(self, given: Any, key: str) -> dict[str, str]:
        if isinstance(given, list):  # as some write them: [{"name": …, "value": …}]
            pairs = {
                item["name"]: item.get("value")
                for item in given
                if isinstance(item, Mapping) and isinstance(item.get("name"), str)
            }
            given = pairs if len(pairs) == len(given) else given
        if not isinstance(given, Mapping):
            raise not_a("an object", given, key)
        found = {}
        for name, value in given.items():
            if not name.strip() or re.search(r"[\0=\n\r]", name):
                raise EntryError("a name is empty, or holds = or a control character", key)
            if value is None:
                self.report("null gives it no value, so it is left out", key, name)
            else:
                found[name] = self._as_text(value, key, name)
        return found

    def _passed_on(self, given: Any, key: str) -> dict[str, str]:
        """Return references to variables, whose names are given as such or as ``{"name": …}``."""
        items = given if isinstance(given, list) else [given]
        names = [item.get("name") if isinstance(item, Mapping) else item for item in items]
        return {str(name): _reference(name, key, index) for index, name in enumerate(names)}

    def _references(self, given: Any, key: str) -> dict[str, str]:
        names = self._texts(given, key)
        return {header: _reference(name, key, header) for header, name in names.items()}

    def _bearer(self, given: Any, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {_reference(given, key)}"} if given != "" else {}

    def _flag(self, given: Any, key: str) -> bool:
        if isinstance(given, str) and given.lower() in ("true", "false"):
            said = given.lower()
            self.report(f"a string that says {said}", key, hint="write it without quotes")
            return said == "true"
        if not isinstance(given, bool):
            raise not_a("true or false", given, key)
        return given

    def _transport_name(self, given: Any, key: str) -> str:
        name = self._text(given, key).strip().lower()
        return _one_of(TRANSPORT_NAMES, name, "a transport", key)

    def _naming(self, given: Any, key: str) -> str:
        return _one_of(NAMING_STYLES, self._text(given, key), "a way to name tools", key)

    def _time(self, given: Any, key: str) -> float | None:
        if self.application.seconds is None:
            return self._seconds(given, key, longest=_MAX_ASSUMED_TIME)
        return self._seconds(given, key, self.application.seconds)

    def _seconds(
        self, given: Any, key: str, unit: float = 1.0, *, longest: float = _MAX_TIME
    ) -> float | None:
        if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given <= 1e12:
            kind = kind_of_value(given)
            self.report(f"a number that is not negative, not {kind}; the usual limit holds", key)
            return None
        seconds = float(given) * unit
        if unit == 1.0 and seconds > longest:
            hint = "is it meant in milliseconds?"
            self.report("that many seconds are a long time", key, hint=hint)
        return seconds

    def _as_text(self, value: Any, *path: str | int) -> str:
        """Return a string; a number or a boolean becomes one, with a warning."""
        if isinstance(value, (bool, int, float)):
            message = f"{kind_of_value(value)} is taken as a string"
            self.report(message, *path, hint="write it in quotes")
            return str(value).lower() if isinstance(value, bool) else str(value)
        if not isinstance(value, str):
            raise not_a("a string", value, *path)
        if "\0" in value:
            raise EntryError("strings cannot contain NUL characters", *path)
        return value

    # What they mean together

    def _reach(self) -> dict[str, Any]:
        """Return the command or the URL of the server, never both."""
        values, names = self.values, self.names
        transport = self._transport()
        command, url = values.get("command"), values.get("url")
        if not command and not url:
            raise self._unreachable()
        is_remote = not command or (bool(url) and transport not in (None, "stdio"))
        if transport is not None and is_remote is (transport == "stdio"):
            needed = "url" if command else "command"
            raise EntryError(f"its type needs a {needed}", names["transport"])
        self._report_useless(is_remote)
        if not is_remote:
            return {"command": self._whole_command(command or []), **self._given(*_OF_PROCESS)}
        if transport is None and "transport" not in names:
            by_url = self.application.url_transport
            transport = "http" if names["url"] == "httpUrl" else by_url
        return {
            "url": url,
            "transport": transport,
            "oauth": self._oauth(values.get("oauth"), values.get("oauth_scopes")),
            **self._given("headers", "headers_helper"),
        }

    def _unreachable(self) -> EntryError:
        unknown = unknown_fields(self.entry)[:_MAX_TOLD]
        meant = filter(None, (did_you_mean(key, ("command", "url")) for key in unknown))
        hint = next(meant, "give one of them")
        empty = [self.names[name] for name in ("command", "url") if name in self.names]
        return EntryError("a server needs a command or a url", *empty[:1], hint=hint)

    def _transport(self) -> str | None:
        transport = TRANSPORT_NAMES.get(self.values.get("transport", ""))
        return None if transport == "http" and self.application.http_falls_back else transport

    def _report_useless(self, is_remote: bool) -> None:
        """Warn about fields for the other kind of server; some applications write empty ones."""
        useless, what = ("stdio", "a url") if is_remote else ("remote", "a command")
        for name, spelled in self.names.items():
            if FIELDS[spelled].side == useless and self.values[name]:
                message = f"{spelled} cannot be combined with {what}"
                self.report(message, spelled, hint="remove it")

    def _whole_command(self, words: list[str]) -> tuple[str, ...]:
        first, *rest = words
        if re.match(r"(?i)(?:https?|wss?)://", first):
            raise EntryError("its command is a URL", "command", hint='write it as "url"')
        if not rest and " " in first.strip() and not re.search(r"[/\\$]", first.split()[0]):
            try:
                words = shlex.split(first)
            except ValueError:
                raise EntryError("it is a line with quotes that do not close", "command") from None
            self.report("a whole line is split into words", "command", hint="give args")
        return (*words, *self.values.get("args", ()))

    def _oauth(self, given: Any, scopes: Any) -> Mapping[str, Any] | str | None:
        """Return the options of a login; ``scopes`` beside them limit it as those among them do."""
        limit = {} if scopes is None else {"scopes": scopes}
        if isinstance(given, str) and (given.lower() != "oauth" or not limit):
            return given or None
        if given is None or isinstance(given, (bool, str)):
            return limit if given or (limit and given is not False) else None
        if not isinstance(given, Mapping):
            raise not_a("an object", given, self.names["oauth"])
        return None if given.get("enabled") is False else {**limit, **given}

    def _filters(self) -> tuple[list[str], list[str]]:
        """Return the included and excluded tools; ``tools`` is a list, or has both lists."""
        include, exclude = ([*self.values.get(name, ())] for name in ("include", "exclude"))
        tools, key = self.values.get("tools"), self.names.get("tools", "")
        if isinstance(tools, Mapping):
            include += self._words(tools.get("include") or [], key)
            exclude += self._words(tools.get("exclude") or [], key)
            # `{"name": false}` and `{"name": {"enabled": false}}` switch single tools off.
            for tool, setting in tools.items():
                enabled = setting.get("enabled") if isinstance(setting, Mapping) else setting
                exclude += [tool] if enabled is False else []
        elif tools is not None:
            include += self._words(tools, key)
        return ([] if include == ["*"] else include), exclude

    def _limits(self) -> ServerLimits | None:
        given = self._given(*(each.name for each in fields(ServerLimits)))
        for name, value in given.items():
            try:
                ServerLimits(**{name: value})
            except UsageError as error:
                raise EntryError(str(error), self.names[name]) from None
        return ServerLimits(**given) if given else None


READERS: dict[str, Callable[[EntryReader, Any, str], Any]] = {
    "text": EntryReader._text,
    "words": EntryReader._words,
    "command": EntryReader._command,
    "texts": EntryReader._texts,
    "names": EntryReader._passed_on,
    "references": EntryReader._references,
    "bearer": EntryReader._bearer,
    "flag": EntryReader._flag,
    "time": EntryReader._time,
    "seconds": EntryReader._seconds,
    "milliseconds": lambda reader, given, key: reader._seconds(given, key, 0.001),
    "transport": EntryReader._transport_name,
    "naming": EntryReader._naming,
    "any": lambda reader, given, key: given,
}
