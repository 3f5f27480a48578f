"""Values of secrets: kept encrypted, private to the server, and whole whatever happens.

Method: a real folder.  Files are damaged, exchanged and taken away, the key too; a crash is the
process's end in the middle of a write, made by an `os` function that never returns.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import InvariantViolation, TransientError
from headwater.persist.local import LocalStore
from headwater.persist.secrets import SecretStore


class Crash(BaseException):
    """The process ends here."""


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def files(data_dir: Path) -> set[str]:
    return {entry.name for entry in (data_dir / "secrets").iterdir()}


@given(value=st.binary(max_size=2_000))
def test_a_value_is_read_back_by_whoever_sees_the_folder(
    tmp_path_factory: pytest.TempPathFactory, value: bytes
) -> None:
    data_dir = tmp_path_factory.getbasetemp() / "any"
    SecretStore(LocalStore(data_dir)).put("u1", value)
    assert SecretStore(LocalStore(data_dir)).get("u1") == value


def test_another_value_takes_the_first_one_s_place(tmp_path: Path) -> None:
    store = SecretStore(LocalStore(tmp_path))
    store.put("u1", b"one")
    store.put("u2", b"other")
    store.put("u1", b"two")
    assert (store.get("u1"), store.get("u2")) == (b"two", b"other")
    assert files(tmp_path) == {"key", "u1", "u2"}


def test_files_are_for_the_server_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        SecretStore(LocalStore(tmp_path)).put("u1", b"value")
    finally:
        os.umask(before)
    folder = tmp_path / "secrets"
    assert [mode_of(folder), mode_of(folder / "key"), mode_of(folder / "u1")] == [0o700, 0o600, 0o600]


def test_no_file_has_the_value_in_it_and_equal_values_look_different(tmp_path: Path) -> None:
    store = SecretStore(LocalStore(tmp_path))
    store.put("u1", b"correct horse battery staple")
    store.put("u2", b"correct horse battery staple")
    contents = [path.read_bytes() for path in (tmp_path / "secrets").iterdir()]
    assert not any(b"horse" in content for content in contents)
    assert len(set(contents)) == 3


def test_a_secret_that_is_not_there_is_named(tmp_path: Path) -> None:
    store = SecretStore(LocalStore(tmp_path))
    with pytest.raises(TransientError, match="could not read secret u7: no such file") as refused:
        store.get("u7")
    assert refused.value.hint is not None
    assert "ALTER SECRET" in refused.value.hint


@pytest.mark.parametrize("place", [0, 4, 15, 16, -1])
def test_a_damaged_file_is_noticed_wherever_the_damage_is(tmp_path: Path, place: int) -> None:
    store = SecretStore(LocalStore(tmp_path))
    store.put("u1", b"value")
    path = tmp_path / "secrets" / "u1"
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(TransientError, match="secret u1: its file is damaged"):
        store.get("u1")


@pytest.mark.parametrize("length", [0, 3, 10, 16, 30])
def test_a_file_that_was_cut_off_is_noticed(tmp_path: Path, length: int) -> None:
    store = SecretStore(LocalStore(tmp_path))
    store.put("u1", b"value")
    path = tmp_path / "secrets" / "u1"
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(TransientError, match="secret u1: its file is damaged"):
        store.get("u1")


def test_a_file_in_another_one_s_place_does_not_pass_for_it(tmp_path: Path) -> None:
    store = SecretStore(LocalStore(tmp_path))
    store.put("u1", b"value")
    (tmp_path / "secrets" / "u1").rename(tmp_path / "secrets" / "u2")
    with pytest.raises(TransientError, match="secret u2: its file is damaged"):
        store.get("u2")


def test_another_key_reads_nothing_and_what_is_set_again_can_be_read(tmp_path: Path) -> None:
    store = SecretStore(LocalStore(tmp_path))
    store.put("u1", b"value")
    (tmp_path / "secrets" / "key").write_bytes(os.urandom(32))
    with pytest.raises(TransientError, match="another key"):
        store.get("u1")
    store.put("u1", b"value")
    assert store.get("u1") == b"value"


def test_a_key_that_is_gone_is_told_and_not_made_up_by_reading(tmp_path: Path) -> None:
    store = SecretStore(LocalStore(tmp_path))
    store.put("u1", b"value")
    (tmp_path / "secrets" / "key").unlink()
    with pytest.raises(TransientError, match=r"key file .* is missing"):
        store.get("u1")
    assert files(tmp_path) == {"u1"}


def test_a_key_of_another_length_is_told_and_never_written_over(tmp_path: Path) -> None:
    store = SecretStore(LocalStore(tmp_path))
    store.put("u1", b"value")
    key = tmp_path / "secrets" / "key"
    key.write_bytes(b"short")
    for attempt in (lambda: store.get("u1"), lambda: store.put("u2", b"value")):
        with pytest.raises(TransientError, match="is 5 bytes long, 32 were written"):
            attempt()
    assert key.read_bytes() == b"short"


def test_two_that_make_the_key_at_once_use_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = SecretStore(LocalStore(tmp_path)), SecretStore(LocalStore(tmp_path))
    link = os.link

    def late(made: str, target: str) -> None:
        monkeypatch.setattr(os, "link", link)
        second.put("u2", b"second")  # has the key by now
        link(made, target)

    monkeypatch.setattr(os, "link", late)
    first.put("u1", b"first")
    assert (second.get("u1"), first.get("u2")) == (b"first", b"second")
    assert files(tmp_path) == {"key", "u1", "u2"}


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_crash_while_writing_leaves_the_old_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    store = SecretStore(LocalStore(tmp_path))
    store.put("u1", b"old")

    def crash(*arguments: object) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(os, function, crash)
        with pytest.raises(Crash):
            store.put("u1", b"new")
    assert store.get("u1") == b"old"
    store.sweep(["u1"])
    assert files(tmp_path) == {"key", "u1"}


def test_values_whose_secret_is_gone_are_swept_and_nothing_else(tmp_path: Path) -> None:
    store = SecretStore(LocalStore(tmp_path))
    for id_ in ("u1", "u2", "u3"):
        store.put(id_, b"value")
    (tmp_path / "secrets" / "notes.txt").write_text("somebody's own")
    assert store.sweep(["u2", "u9"]) == ("u1", "u3")
    assert files(tmp_path) == {"key", "u2", "notes.txt"}
    assert store.get("u2") == b"value"


def test_sweeping_where_nothing_was_ever_kept_is_nothing(tmp_path: Path) -> None:
    assert SecretStore(LocalStore(tmp_path)).sweep([]) == ()
    assert not (tmp_path / "secrets").exists()


def test_what_is_deleted_is_gone_and_may_be_deleted_again(tmp_path: Path) -> None:
    store = SecretStore(LocalStore(tmp_path))
    store.put("u1", b"value")
    store.delete("u1")
    store.delete("u1")
    with pytest.raises(TransientError):
        store.get("u1")


@pytest.mark.parametrize("id_", ["key", "../u1", "u1/x", "", "u", ".new-1"])
def test_only_ids_are_names_of_files(tmp_path: Path, id_: str) -> None:
    store = SecretStore(LocalStore(tmp_path))
    store.put("u1", b"value")
    for attempt in (lambda: store.get(id_), lambda: store.put(id_, b"x"), lambda: store.delete(id_)):
        with pytest.raises(InvariantViolation):
            attempt()
    assert store.get("u1") == b"value"


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("not a folder")
    with pytest.raises(TransientError, match="could not write secret u1"):
        SecretStore(LocalStore(tmp_path)).put("u1", b"value")
