"""F-PACK-1, F-PACK-3: the public names are deliberate, complete, and loaded only when used."""

from __future__ import annotations

import json
from importlib import import_module

import pytest

import mcpclient
from tests.support.subprocesses import run_python
from tests.support.tables import each_row

# Not a name for type checkers, who read the imports instead.
PUBLIC: list[str] = vars(mcpclient)["__all__"]

# Names that others write against: they stay, whatever the inside looks like.
PROMISED = [
    *("connect", "Client", "call", "list_tools"),
    *("McpError", "PeerError", "ToolError", "ProtocolViolation", "HttpError"),
    *("ProcessExited", "ConnectionLost", "CallTimeout", "AuthorizationRequired", "SsrfError"),
]


def test_all_is_what_the_lazy_root_offers() -> None:
    """F-PACK-3: nothing is public by accident."""
    assert sorted({*mcpclient._EXPORTS, "__version__"}) == PUBLIC


@each_row("name", PROMISED)
def test_a_promised_name_is_offered(name: str) -> None:
    assert name in PUBLIC


def test_every_public_name_resolves() -> None:
    for name in PUBLIC:
        assert getattr(mcpclient, name) is not None, name


def test_a_public_name_is_public_where_it_lives() -> None:
    """A name comes from where it is defined; a module may be offered itself."""
    for name, module in mcpclient._EXPORTS.items():
        home = import_module(module, mcpclient.__name__)
        if home is not getattr(mcpclient, name):
            assert getattr(home, name) is getattr(mcpclient, name), name
            origin = getattr(getattr(home, name), "__module__", home.__name__)
            assert f"{origin}.".startswith(f"{home.__name__}.") or origin == "typing", name


def test_dir_lists_every_public_name() -> None:
    assert set(PUBLIC) <= set(dir(mcpclient))


def test_a_name_resolved_once_is_kept() -> None:
    """The second access costs an attribute look-up and no call of ``__getattr__``."""
    for name in PUBLIC:
        value = getattr(mcpclient, name)
        assert vars(mcpclient)[name] is value, name


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(
        AttributeError, match=f"module '{mcpclient.__name__}' has no attribute 'conect'"
    ):
        getattr(mcpclient, "conect")  # noqa: B009 - a type checker knows it, too


@pytest.mark.slow
def test_star_import_brings_exactly_the_public_names() -> None:
    printed = run_python(
        """
        import json
        names = {}
        exec("from mcpclient import *", names)
        print(json.dumps(sorted(set(names) - {"__builtins__"})))
        """
    )
    assert json.loads(printed) == sorted(PUBLIC)


def test_importing_the_root_imports_the_version_alone() -> None:
    """F-PACK-3: the root is a table of names."""
    printed = run_python(
        """
        import json, sys
        import mcpclient
        own = mcpclient.__name__ + "."
        print(json.dumps([name for name in sys.modules if name.startswith(own)]))
        """
    )
    assert json.loads(printed) == [f"{mcpclient.__name__}.version"]
