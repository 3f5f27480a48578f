"""Secrets survive what the server does not.

Goal: a value and its secret are both there or both gone, wherever the process ends.

Method: a server that ends at a failpoint in the middle of CREATE SECRET, or is killed afterwards, and one
that is started on what it left.
"""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from headwater.persist.local import LocalStore
from headwater.persist.secrets import SecretStore
from tests.support.server import HeadwaterServer


def kept(data_dir: Path) -> set[str]:
    folder = data_dir / "secrets"
    return {entry.name for entry in folder.iterdir()} - {"key"} if folder.exists() else set()


def test_a_value_without_its_secret_is_swept_at_the_next_start(own_server: HeadwaterServer) -> None:
    own_server.start({"HEADWATER_FAILPOINTS": "catalog.before_commit=2*exit"})
    own_server.query("CREATE SECRET first AS 'one'")
    with pytest.raises(psycopg.OperationalError):
        own_server.query("CREATE SECRET second AS 'two'")
    assert len(kept(own_server.data_dir)) == 2
    own_server.kill_environment()
    own_server.start()
    assert own_server.query("SHOW SECRETS") == [("first", "")]
    ((id_,),) = own_server.query("SELECT id FROM mz_catalog.mz_secrets")
    assert kept(own_server.data_dir) == {id_}
    assert SecretStore(LocalStore(own_server.data_dir)).get(id_) == b"one"


def test_a_secret_that_the_catalog_has_has_its_value(own_server: HeadwaterServer) -> None:
    own_server.start({"HEADWATER_FAILPOINTS": "catalog.after_commit=1*exit"})
    with pytest.raises(psycopg.OperationalError):
        own_server.query("CREATE SECRET only AS 'one'")
    own_server.kill_environment()
    own_server.start()
    ((id_,),) = own_server.query("SELECT id FROM mz_catalog.mz_secrets")
    assert SecretStore(LocalStore(own_server.data_dir)).get(id_) == b"one"
    own_server.query("DROP SECRET only")
    assert kept(own_server.data_dir) == set()
