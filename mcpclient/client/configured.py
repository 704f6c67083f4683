"""Conversion of a server's entry, given as a mapping, to the target and options of a client."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..entries.applications import APPLICATIONS
from ..entries.entry import Entry, EntryError, kind_of_value, read_entry, unknown_fields
from ..entries.fields import FIELDS, SANDBOX_FIELDS, restrictions_in
from ..entries.resolve import resolve
from ..entries.variables import MAX_VALUE_FILE_SIZE, Inputs, InputSpec, Variables, folders_of
from ..errors import AuthError, UsageError
from ..framing.logs import logger_for
from ..net.network_options import Negotiate
from ..net.paths import absolute_path
from ..net.regular_files import read_file
from ..net.user_folders import home_folder
from ..suggestions import did_you_mean

if TYPE_CHECKING:
    from ..auth.options import BearerToken, EnterpriseManaged, IdentityProvider, OAuth
    from ..entries.bundles.archive import Bundle

_logger = logger_for("mcpclient.client")

_TIMES = ("timeout", "connect_timeout")


class ReadMapping(NamedTuple):
    """An entry, and the target and options of the client that it describes.

    ``bundle``: a bundle that has to be unpacked before.
    """

    entry: Entry
    target: str | list[str]
    options: dict[str, Any]
    bundle: Bundle | None = None


def read_mapping(
    mapping: Mapping[str, Any], name: str = "", *, is_judged: bool = False
) -> ReadMapping:
    """Read a server's entry that code gives in the form of configuration files.

    Values of variables come from this process's environment, and relative paths are the caller's.
    ``is_judged``: a gate refuses servers whose sandbox cannot be carried out, so that one is left
    out here. Warnings go to the log. Raises `UsageError` for an entry that cannot be used, and for
    a key that looks like a misspelled one; other unknown keys are for other programs.
    """
    raw = _as_json(entry_of(mapping))
    bundle, inputs = None, Inputs(None, None)
    specs: tuple[InputSpec, ...] = ()
    if "bundle" in raw:
        from ..entries.bundles.manifest import open_entry

        with _told():
            _, raw, specs, bundle = open_entry(raw, "", "", name)
        inputs = Inputs(specs, None)
    if is_judged and not SANDBOX_FIELDS.isdisjoint(raw):
        from ..sandbox.rights import sandbox_in

        try:
            sandbox_in(restrictions_in(raw))
        except UsageError:
            raw = {key: value for key, value in raw.items() if key not in SANDBOX_FIELDS}
    for key in unknown_fields(raw):
        meant = did_you_mean(key, (*FIELDS, "mcpServers"))
        if meant:
            raise UsageError(f"unknown key {key!r} in a server's configuration; {meant}")

    def report(message: str, *path: str | int, hint: str = "") -> None:
        place = ".".join(map(str, (name, *path) if name else path))
        _logger.warning("%s: %s%s", place, message, f" ({hint})" if hint else "")

    folder = absolute_path()
    folders = folders_of(folder, folder, str(home_folder(os.environ)))
    variables = Variables(os.environ, inputs, folders, _read)
    with _told():
        if specs:
            from ..entries.bundles.manifest import require_inputs

            require_inputs(specs, raw, variables)
        entry = read_entry(name, raw, APPLICATIONS["mcpclient"], report)
        target, options = resolve(entry, variables, "", _read, report, authentication_of)
    return ReadMapping(entry, target, options, bundle)


@contextmanager
def _told() -> Iterator[None]:
    """Raise the error of an entry as a `UsageError` with its place."""
    try:
        yield
    except EntryError as error:
        place = ".".join(map(str, error.path)) or "a server's configuration"
        hint = f" ({error.hint})" if error.hint else ""
        raise UsageError(f"{place}: {error}{hint}") from None


def client_arguments(
    mapping: Mapping[str, Any], given: Mapping[str, Any]
) -> tuple[str | list[str], dict[str, Any]]:
    """Return target and options of one client for a mapping; the caller's options take precedence.

    A bundle is unpacked. Raises `UsageError` for an entry that disables its server, or restricts it
    in a way that a single client cannot enforce.
    """
    entry, target, options, bundle = read_mapping(mapping)
    if not entry.enabled:
        raise UsageError("the configuration disables this server; remove disabled to connect to it")
    if entry.include or entry.exclude:
        raise UsageError(
            "a client offers all tools of its server; use mcpclient.connect_all() for an entry "
            "that filters them"
        )
    for field in entry.restrictions:
        if field not in SANDBOX_FIELDS or entry.url is not None:
            raise UsageError(f"the entry asks for {field}, which this client does not carry out")
    if bundle is not None:
        with _told():
            bundle.unpack()
    if entry.trusted:
        options["trusted"] = True
    return target, with_given(options, given, is_bundle=bundle is not None)


def with_given(
    options: Mapping[str, Any], given: Mapping[str, Any], *, is_bundle: bool
) -> dict[str, Any]:
    """Return the options of an entry with those that the caller gives, which take precedence.

    An empty one does not: it would drop the variables or headers of the entry unseen.
    """
    merged = dict(options)
    for name, value in given.items():
        if name == "sandbox" and value == "required" and name in options:
            continue  # the entry's own sandbox satisfies it
        if name == "env" and value and is_bundle:
            value = {**options.get(name, {}), **cast("Mapping[str, str]", value)}
        if value or name in _TIMES or name not in options:  # a timeout of None is a choice
            merged[name] = value
    return merged


def entry_of(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the only entry of ``{"mcpServers": {…}}``, or the mapping itself."""
    servers = config.get("mcpServers")
    if not isinstance(servers, Mapping):
        return config
    if len(servers) != 1:
        names = ", ".join(map(repr, servers)) or "none"
        raise UsageError(
            f"a client connects to one server, and the configuration names {len(servers)}: "
            f"{names}; give the entry of one, or use mcpclient.connect_all() for all"
        )
    entry = next(iter(servers.values()))
    if not isinstance(entry, Mapping):
        raise UsageError("a server's configuration must be a mapping")
    return entry


def _as_json(value: Any) -> Any:
    """Return a value as a file would have it: paths as strings, sequences as lists."""
    if isinstance(value, Mapping):
        return {key: _as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(item) for item in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _read(path: str) -> str:
    return read_file(path, limit=MAX_VALUE_FILE_SIZE).decode("utf-8", "replace")


# The names that applications give the options of `OAuth` and of its `Endpoints`.
_TEXTS = {
    "client_id": ("clientId", "client_id", "CLIENT_ID"),
    "client_secret": ("clientSecret", "client_secret", "CLIENT_SECRET"),
    "client_name": ("clientName", "client_name"),
    "redirect_uri": ("redirectUri", "redirect_uri"),
    "issuer": ("issuer",),
    "resource": ("resource",),
    "account": ("account",),
    "token_endpoint": ("tokenUrl", "tokenEndpoint", "token_endpoint"),
    "authorization_endpoint": (
        *("authorizationUrl", "authorizationEndpoint", "authorization_endpoint"),
    ),
}


def authentication_of(
    given: Mapping[str, Any] | str,
    field: str,
    expand: Callable[[str], str],
    identity_provider: IdentityProvider | None = None,
) -> OAuth | BearerToken | EnterpriseManaged | Negotiate:
    """Return a value of ``auth=``. ``given``: options, "oauth", "negotiate", or a token.

    ``expand`` puts the values of variables into a string. ``identity_provider``: the enterprise's,
    for entries that say ``"xaa": true``. Raises `EntryError`.
    """
    if isinstance(given, str) and given.lower() == "negotiate":
        return Negotiate()
    from ..auth.options import BearerToken, EnterpriseManaged, OAuth

    if isinstance(given, str):
        return OAuth() if given.lower() == "oauth" else BearerToken(expand(given))
    token = given.get("token")
    if isinstance(token, str):
        return BearerToken(expand(token))
    try:
        options = _options(given, field, expand)
        if given.get("xaa") is not True:
            return OAuth(**options)
        if identity_provider is None:
            raise EntryError(
                "the enterprise's identity provider is not known",
                field,
                "xaa",
                hint="give it: load_config(identity_provider=…)",
            )
        _require_issuer(options, field)
        return EnterpriseManaged(identity_provider=identity_provider, **options)
    except (UsageError, TypeError) as error:
        reason = str(error) if isinstance(error, UsageError) else "an option does not fit xaa"
        raise EntryError(reason, field) from None
    except AuthError:  # its text would show a value
        raise EntryError("invalid URL", field) from None


def _options(given: Mapping[str, Any], field: str, expand: Callable[[str], str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for option, spellings in _TEXTS.items():
        for spelling in spellings:
            value = given.get(spelling)
            if isinstance(value, str) and value:
                options[option] = expand(value)
            elif value is not None and value != "":
                raise EntryError(f"must be a string, not {kind_of_value(value)}", field, spelling)
    scopes = given.get("scopes", given.get("scope"))
    if scopes is not None:
        scopes = scopes.split() if isinstance(scopes, str) else scopes
        if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
            raise EntryError("must be a list of strings", field, "scopes")
        options["scopes"] = tuple(expand(scope) for scope in scopes)
    port = given.get("callbackPort")
    if isinstance(port, int) and not isinstance(port, bool) and "redirect_uri" not in options:
        options["redirect_uri"] = f"http://localhost:{port}/callback"
    endpoints = {name: options.pop(name) for name in list(options) if name.endswith("_endpoint")}
    if "token_endpoint" in endpoints:
        from ..auth.options import Endpoints

        options["endpoints"] = Endpoints(**endpoints)
    if given.get("trustFirstIssuer") is True:
        options["trust_first_issuer"] = True
    if "client_secret" in options:
        _require_issuer(options, field)
    return options


def _require_issuer(options: Mapping[str, Any], field: str) -> None:
    """Refuse a secret for an issuer that only the server names, unless the entry allows it."""
    if not options.keys() & {"issuer", "endpoints", "trust_first_issuer"}:
        raise EntryError(
            "client_secret needs an issuer",
            field,
            "issuer",
            hint='add "issuer": "https://…", or "trustFirstIssuer": true to trust the first one',
        )
