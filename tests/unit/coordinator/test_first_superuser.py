"""The first superuser: one password, told once, that works; none where one works already.

Method: a real catalog; a crash before the commit is a failpoint.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headwater.catalog.opening import open_catalog
from headwater.catalog.state import DEFAULT_ROLE_ID
from headwater.catalog.store import CatalogStore
from headwater.catalog.updates import UpdateRole
from headwater.coordinator.first_superuser import name_superuser
from headwater.core.errors import TransientError
from headwater.core.scram import parse_verifier, password_matches
from headwater.observe.failpoints import armed
from headwater.options import AuthOptions

BY_PASSWORD = AuthOptions("password")


def named(catalog: CatalogStore, auth: AuthOptions = BY_PASSWORD) -> list[str]:
    """The passwords that were told."""
    told: list[str] = []
    name_superuser(catalog, auth, told.append)
    return [line.rpartition(": ")[2] for line in told]


def right(catalog: CatalogStore, password: str) -> bool:
    verifier = parse_verifier(catalog.state.roles[DEFAULT_ROLE_ID].verifier or "")
    return verifier is not None and password_matches(verifier, password)


def test_a_password_is_made_told_and_lasts(tmp_path: Path) -> None:
    catalog = open_catalog(tmp_path)
    (password,) = named(catalog)
    assert len(password) == 24
    assert right(catalog, password)
    assert named(catalog) == []
    catalog.close()
    again = open_catalog(tmp_path)
    assert named(again) == []
    assert right(again, password)
    again.close()


def test_a_password_from_a_file_is_not_told(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("pass word \u00e9\r\nmore\n", newline="")
    catalog = open_catalog(tmp_path)
    assert named(catalog, AuthOptions("password", admin_password_file=file)) == []
    assert right(catalog, "pass word \u00e9")
    file.write_text("another")
    assert named(catalog, AuthOptions("password", admin_password_file=file)) == []
    assert right(catalog, "pass word \u00e9")
    catalog.close()


@pytest.mark.parametrize("method", ["trust", "certificate"])
def test_where_no_password_is_asked_for_none_is_made(tmp_path: Path, method: str) -> None:
    catalog = open_catalog(tmp_path)
    assert named(catalog, AuthOptions(method)) == []  # type: ignore[arg-type]
    assert catalog.state.roles[DEFAULT_ROLE_ID].verifier is None
    catalog.close()


def test_a_superuser_who_cannot_log_in_does_not_count(tmp_path: Path) -> None:
    catalog = open_catalog(tmp_path)
    (password,) = named(catalog)
    role = catalog.state.roles[DEFAULT_ROLE_ID]
    catalog.transact([], [UpdateRole(replace(role, login=False))])
    (another,) = named(catalog)
    assert another != password
    assert right(catalog, another)
    catalog.close()


def test_a_password_that_was_told_and_not_kept_is_told_anew(tmp_path: Path) -> None:
    catalog = open_catalog(tmp_path)
    told: list[str] = []
    with armed("catalog.before_commit", "error"), pytest.raises(TransientError):
        name_superuser(catalog, BY_PASSWORD, told.append)
    assert len(told) == 1
    (password,) = named(catalog)
    assert right(catalog, password)
    assert password not in told[0]
    catalog.close()
