"""F-CONF-5: logins by Kerberos at the servers of Debian, and what of it could not run."""

from __future__ import annotations

import shutil

import pytest

from conformance import negotiate
from conformance.results import LEFT_OUT


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, path="": None)
    (row,) = negotiate.run()
    assert row.outcome == LEFT_OUT
    assert row.detail.startswith("not on PATH: krb5kdc, kdb5_util, kadmin.local, kinit, apache2")
