"""The secret arguments of a tool: by their names, as in `secrets`, or as its schema marks them."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping
from functools import partial
from typing import Any, Callable, TypeVar

from ..errors import McpError
from ..protocol.json_schema import alternatives, marks_secrets
from ..protocol.wire_object import WireObject
from .secrets import KnownSecrets, is_secret_name

T = TypeVar("T")


class SecretArguments(dict[str, Any]):
    """The arguments of a call, whose repr leaves out those that are secret.

    ``is_guarded``: whether the call is made by `guarded`.
    """

    is_guarded: bool = False

    def __init__(self, arguments: Mapping[str, Any], schema: Any) -> None:
        super().__init__(arguments)
        self._schema = schema

    def __repr__(self) -> str:
        return repr(shown_arguments(self, self._schema))

    async def guarded(self, call: Coroutine[Any, Any, T]) -> T:
        """Return the result of a call with these arguments; its error does not show them."""
        self.is_guarded = True
        try:
            return await call
        except McpError as error:
            self.conceal_in(error)
            raise error  # not `raise`, which on old versions brings the traceback back

    def conceal_in(self, error: BaseException) -> None:
        """Mask the arguments in an error, and those behind it, where the server repeats them.

        Their tracebacks end here, because the functions below hold the request and its answer.
        """
        known = KnownSecrets()
        masked(dict(self), self._schema, self._schema, partial(_learn, known))
        pending: list[BaseException | None] = [error]
        seen: list[BaseException | None] = [None]
        while pending:
            each = pending.pop()
            if isinstance(each, McpError) and each not in seen:
                seen.append(each)
                each.mask(known.replaced_in)
                each.args = tuple(_concealed(known, value) for value in each.args)
                for name, value in vars(each).items():
                    if type(value) is not int:  # a code, a status or a limit
                        vars(each)[name] = _concealed(known, value)
                each.__traceback__ = None
                pending += [each.__cause__, each.__context__]


def _learn(known: KnownSecrets, secret: Any) -> None:
    for each in secret if isinstance(secret, list) else [secret]:
        if isinstance(each, Mapping):
            each = list(each.values())
        if isinstance(each, list):
            _learn(known, each)
        elif isinstance(each, (str, int, float)) and not isinstance(each, bool):
            known.add(str(each), "…")


def _concealed(known: KnownSecrets, value: Any) -> Any:
    """Return a field of an error without the secrets in it: a server's data, result or body."""
    try:
        return _replaced(known, value)
    except RecursionError:
        return "…"


def _replaced(known: KnownSecrets, value: Any) -> Any:
    if isinstance(value, str):
        return known.replaced_in(value)
    if isinstance(value, bytes):
        return known.replaced_in(value.decode("utf-8", "replace")).encode()
    replaced = partial(_replaced, known)
    if type(value) in (list, tuple):
        return type(value)(map(replaced, value))
    if type(value) is dict:
        return {replaced(name): replaced(item) for name, item in value.items()}
    if isinstance(value, WireObject):
        value.raw = replaced(value.raw)
    elif isinstance(value, (int, float)) and known.replaced_in(str(value)) != str(value):
        return "…"
    return value


def schemas_with_secrets(tools: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the input schemas, by the names of the tools, that may mark a secret."""
    return {
        name: schema
        for name, schema in ((tool.get("name"), tool.get("inputSchema")) for tool in tools)
        if isinstance(name, str) and marks_secrets(schema)
    }


def is_secret(name: Any, schema: Any, root: Any) -> bool:
    """Whether the value of a parameter must not be kept. ``root``: the schema of references."""
    # A name that is a mistake says nothing about its value.
    if not isinstance(name, str) or is_secret_name(name):
        return True
    return schema is not None and any(
        each.get("format") == "password" or each.get("writeOnly") is True
        for each in alternatives(schema, root)
    )


def parameter_of(schema: Any, name: str, root: Any) -> Any:
    """Return the schema of a member: what any branch says of it; None where there is none."""
    if not schema:
        return None
    listed = (each.get("properties") for each in alternatives(schema, root))
    return {"anyOf": [each[name] for each in listed if isinstance(each, Mapping) and name in each]}


def shown_arguments(arguments: Mapping[str, Any], schema: Any) -> dict[str, Any]:
    """Return a copy of the arguments of a call with an ellipsis in place of each secret."""
    copied: dict[str, Any] = masked(dict(arguments), schema, schema, lambda secret: "…")
    return copied


def masked(value: Any, schema: Any, root: Any, replace: Callable[[Any], Any]) -> Any:
    """Return a copy of arguments with the result of ``replace`` for each secret one."""
    if isinstance(value, dict):
        copied = {}
        for name, item in value.items():
            parameter = parameter_of(schema, name, root)
            if is_secret(name, parameter, root):
                copied[name] = replace(item)
            else:
                copied[name] = masked(item, parameter, root, replace)
        return copied
    if isinstance(value, list):
        items = {"anyOf": [each["items"] for each in alternatives(schema, root) if "items" in each]}
        return [masked(item, items, root, replace) for item in value]
    return value
