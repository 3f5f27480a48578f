"""Values of secrets: one encrypted file each, beside the catalog and never in it.

    secrets/key            32 random bytes, made once
    secrets/<item id>      mark, nonce, AES-256-GCM of the value

The id is authenticated with the value, so that a file put in another one's place does
not pass for it.  What the encryption is for: copies of the data directory's files that
are made without the key (backups, support bundles) do not give values away.  Whoever can
read the key file can read the values.

A crash leaves the old value or the new one (store.py).  A new secret's file is written before
the catalog commits the secret; what a crash leaves between the two is swept at the next start.

Any process that has the store may read; only the environment writes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from headwater.core.errors import InvariantViolation, TransientError
from headwater.persist.layout import SECRETS_FOLDER, UNFINISHED
from headwater.persist.store import DataStore

_KEY: Final = f"{SECRETS_FOLDER}/key"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_MARK: Final = b"HWS1"
_ID: Final = re.compile(r"[us]\d+")

SET_AGAIN: Final = (
    "Restore the folder from a backup of the data directory, or set the value again: ALTER SECRET ... AS ..."
)


class SecretStore:
    """The values in one store."""

    def __init__(self, store: DataStore) -> None:
        self._store = store

    def put(self, id_: str, value: bytes) -> None:
        """Keep a value, in place of the one before; durable when this returns."""
        path = self._path(id_)
        nonce = os.urandom(_NONCE_BYTES)
        try:
            sealed = AESGCM(self._key_or_new()).encrypt(nonce, value, id_.encode())
            with self._store.create(path) as file:
                file.write(_MARK + nonce + sealed)
        except OSError as error:
            raise TransientError(
                f'could not write secret {id_} to "{self._store.url(SECRETS_FOLDER)}": {_reason(error)}',
                hint="Free space or make the data directory writable, then try again.",
            ) from error

    def get(self, id_: str) -> bytes:
        """The value now; TransientError when it is not there or not as it was written."""
        path = self._path(id_)
        try:
            data = self._read(path)
        except OSError as error:
            reason = _reason(error).lower()
            raise TransientError(f"could not read secret {id_}: {reason}", hint=SET_AGAIN) from error
        key = self._key()
        if key is None:
            raise TransientError(
                f'could not read secret {id_}: the key file "{self._store.url(_KEY)}" is missing',
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
            self._store.remove(self._path(id_))

    def sweep(self, known_ids: Iterable[str]) -> tuple[str, ...]:
        """Remove values whose secret does not exist, and files a crash left half-written; says which."""
        known = set(known_ids)
        swept = [
            name
            for name in sorted(self._store.names(SECRETS_FOLDER))
            if (_ID.fullmatch(name) and name not in known) or name.endswith(UNFINISHED)
        ]
        self._store.remove(*(f"{SECRETS_FOLDER}/{name}" for name in swept))
        return tuple(swept)

    def _read(self, path: str) -> bytes:
        with self._store.open(path) as file:
            return bytes(file.read())

    def _path(self, id_: str) -> str:
        if not _ID.fullmatch(id_):
            raise InvariantViolation(f"{id_!r} is not the id of a secret")
        return f"{SECRETS_FOLDER}/{id_}"

    def _key(self) -> bytes | None:
        path = self._store.url(_KEY)
        try:
            key = self._read(_KEY)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise TransientError(
                f'could not read the key of secrets, "{path}": {_reason(error)}',
                hint="Make it readable for the user that the server runs as.",
            ) from error
        if len(key) != _KEY_BYTES:
            raise TransientError(
                f'the key of secrets, "{path}", is {len(key)} bytes long, {_KEY_BYTES} were written',
                hint="Restore it from a backup, or remove it and set every secret again with ALTER SECRET.",
            )
        return key

    def _key_or_new(self) -> bytes:
        """The key; the first one to make the file decides what it is."""
        key = self._key()
        if key is None:
            with suppress(FileExistsError), self._store.create(_KEY, replace=False) as file:
                file.write(os.urandom(_KEY_BYTES))
            key = self._key()
        if key is None:
            raise InvariantViolation("the key of secrets was made and is not there")
        return key


def _reason(error: OSError) -> str:
    """Without the name of the file, which other words are about."""
    return os.strerror(error.errno) if error.errno else str(error)


def _damaged(id_: str) -> TransientError:
    return TransientError(
        f"could not read secret {id_}: its file is damaged, or was written with another key", hint=SET_AGAIN
    )
