"""Values of secrets: one encrypted file each, beside the catalog and never in it.

    <data directory>/secrets/          mode 0700
        key                            32 random bytes, mode 0600, made once
        <item id>                      mark, nonce, AES-256-GCM of the value; mode 0600

The id is authenticated with the value, so that a file put in another one's place does
not pass for it.  What the encryption is for: copies of the data directory's files that
are made without the key (backups, support bundles) do not give values away.  Whoever can
read the key file can read the values.

A value is written to a file of another name, flushed and renamed, so that a crash leaves
the old value or the new one.  A new secret's file is written before the catalog commits
the secret; what a crash leaves between the two is swept at the next start.

Any process that sees the data directory may read; only the environment writes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from headwater.core.clock import unique_name
from headwater.core.errors import InvariantViolation, TransientError
from headwater.persist.files import flush

_KEY: Final = "key"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_MARK: Final = b"HWS1"
_TEMPORARY: Final = ".new-"
_ID: Final = re.compile(r"[us]\d+")

SET_AGAIN: Final = (
    "Restore the folder from a backup of the data directory, or set the value again: ALTER SECRET ... AS ..."
)


class SecretStore:
    """The values below one data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / "secrets"

    def put(self, id_: str, value: bytes) -> None:
        """Keep a value, in place of the one before; durable when this returns."""
        path = self._path(id_)
        nonce = os.urandom(_NONCE_BYTES)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.chmod(0o700)
            sealed = AESGCM(self._key_or_new()).encrypt(nonce, value, id_.encode())
            temporary = self._write(_MARK + nonce + sealed)
            temporary.rename(path)
            flush(path)
        except OSError as error:
            raise TransientError(
                f'could not write secret {id_} to "{self._folder}": {error.strerror or error}',
                hint="Free space or make the data directory writable, then try again.",
            ) from error

    def get(self, id_: str) -> bytes:
        """The value now; TransientError when it is not there or not as it was written."""
        try:
            data = self._path(id_).read_bytes()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise TransientError(f"could not read secret {id_}: {reason}", hint=SET_AGAIN) from error
        key = self._key()
        if key is None:
            raise TransientError(
                f'could not read secret {id_}: the key file "{self._folder / _KEY}" is missing',
                hint=SET_AGAIN,
            )
        nonce, sealed = data[len(_MARK) :][:_NONCE_BYTES], data[len(_MARK) + _NONCE_BYTES :]
        if not data.startswith(_MARK) or len(nonce) != _NONCE_BYTES:
            raise _damaged(id_)
        try:
            return AESGCM(key).decrypt(nonce, sealed, id_.encode())
        except InvalidTag:
            raise _damaged(id_) from None

    def delete(self, id_: str) -> None:
        """Forget a value; what cannot be removed now is swept at the next start."""
        with suppress(OSError):
            self._path(id_).unlink()

    def sweep(self, known_ids: Iterable[str]) -> tuple[str, ...]:
        """Remove values whose secret does not exist, and files a crash left half-written; says which."""
        kept = {_KEY, *known_ids}
        swept = []
        with suppress(FileNotFoundError):
            for entry in sorted(self._folder.iterdir()):
                if entry.name not in kept and (
                    _ID.fullmatch(entry.name) or entry.name.startswith(_TEMPORARY)
                ):
                    entry.unlink(missing_ok=True)
                    swept.append(entry.name)
        return tuple(swept)

    def _path(self, id_: str) -> Path:
        if not _ID.fullmatch(id_):
            raise InvariantViolation(f"{id_!r} is not the id of a secret")
        return self._folder / id_

    def _key(self) -> bytes | None:
        path = self._folder / _KEY
        try:
            key = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise TransientError(
                f'could not read the key of secrets, "{path}": {error.strerror or error}',
                hint="Make it readable for the user that the server runs as.",
            ) from error
        if len(key) != _KEY_BYTES:
            raise TransientError(
                f'the key of secrets, "{path}", is {len(key)} bytes long, {_KEY_BYTES} were written',
                hint="Restore it from a backup, or remove it and set every secret again with ALTER SECRET.",
            )
        return key

    def _key_or_new(self) -> bytes:
        """The key; the first one to link the file decides what it is."""
        key = self._key()
        if key is None:
            temporary = self._write(os.urandom(_KEY_BYTES))
            with suppress(FileExistsError):
                (self._folder / _KEY).hardlink_to(temporary)
            temporary.unlink()
            flush(self._folder / _KEY)
            key = self._key()
        if key is None:
            raise InvariantViolation("the key of secrets was made and is not there")
        return key

    def _write(self, data: bytes) -> Path:
        """A new private file, flushed."""
        path = self._folder / f"{_TEMPORARY}{unique_name()}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return path


def _damaged(id_: str) -> TransientError:
    return TransientError(
        f"could not read secret {id_}: its file is damaged, or was written with another key", hint=SET_AGAIN
    )
