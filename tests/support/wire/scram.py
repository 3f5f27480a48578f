"""A client's half of SCRAM-SHA-256, written from RFC 5802: what a driver does."""

from __future__ import annotations

import base64
import hashlib
import hmac
from functools import lru_cache


@lru_cache
def _salted(password: bytes, salt: bytes, iterations: int) -> bytes:
    """Milliseconds of work, which drivers remember as well."""
    return hashlib.pbkdf2_hmac("sha256", password, salt, iterations)


class Login:
    """Messages of one login; with `binding`, the hash of the server's certificate, of the PLUS kind."""

    def __init__(
        self, password: str, binding: bytes | None = None, nonce: bytes = b"fyko+d2lbbFgONRv9"
    ) -> None:
        self._password = password.encode()
        self._header = b"n,," if binding is None else b"p=tls-server-end-point,,"
        self._binding = self._header + (binding or b"")
        self._bare = b"n=,r=" + nonce
        self._server_signature = b""

    def first(self) -> bytes:
        return self._header + self._bare

    def final(self, server_first: bytes) -> bytes:
        given = {part[:1]: part[2:] for part in server_first.split(b",")}
        salt, iterations = base64.b64decode(given[b"s"]), int(given[b"i"])
        salted = _salted(self._password, salt, iterations)
        unproven = b"c=" + base64.b64encode(self._binding) + b",r=" + given[b"r"]
        signed = b",".join((self._bare, server_first, unproven))
        key = hmac.digest(salted, b"Client Key", "sha256")
        signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
        self._server_signature = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), signed, "sha256")
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        return unproven + b",p=" + base64.b64encode(proof)

    def trusts(self, server_final: bytes) -> bool:
        return server_final == b"v=" + base64.b64encode(self._server_signature)
