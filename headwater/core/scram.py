"""SCRAM-SHA-256: how a password is kept, and how a client shows that it knows it.

    make_verifier(password)      SCRAM-SHA-256$4096:<salt>$<StoredKey>:<ServerKey>, as PostgreSQL keeps it
    password_matches(...)        whether a password is the one, where the client sends it as it is
    Exchange                     the server's half of RFC 5802 and 5929, a message at a time

                 client                                    server
    first        n,,n=user,r=NONCE                    ►
                                                      ◄    r=NONCE+OURS,s=SALT,i=4096
    final        c=BINDING,r=NONCE+OURS,p=PROOF       ►
                                                      ◄    v=SIGNATURE

A verifier gives the password to nobody: whoever steals it can check guesses, but cannot log in.
With channel binding (SCRAM-SHA-256-PLUS) the proof holds for one certificate only, so that nobody
in between can use it.

A user that does not exist, or has no password, gets a whole exchange as well, over `mock_verifier`:
the same salt each time, the same work, and the same refusal in the end.

Chance is handed in, nothing is read or waited for.  Not here: messages of the wire protocol
(pgwire), and who exists (the catalog).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import stringprep
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headwater.core.errors import UserError

PLAIN: Final = "SCRAM-SHA-256"
PLUS: Final = "SCRAM-SHA-256-PLUS"
ITERATIONS: Final = 4096
ITERATIONS_MAX: Final = 1_000_000
"""More would keep everybody waiting each time the password is checked."""
SALT_BYTES: Final = 16
NONCE_BYTES: Final = 18

_KEY_BYTES: Final = hashlib.sha256().digest_size
_STORED: Final = re.compile(
    r"SCRAM-SHA-256\$([1-9][0-9]{0,9}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)", re.ASCII
)
_BINDING_TYPE: Final = b"tls-server-end-point"
_PRINTABLE: Final = re.compile(rb"[\x21-\x2b\x2d-\x7e]+")
_FAILED_BINDING: Final = "SCRAM channel binding check failed"


@dataclass(frozen=True, slots=True, repr=False)
class Verifier:
    """What is kept of a password; its text is PostgreSQL's, and nothing shows it by chance."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def __str__(self) -> str:
        salt, stored, server = (_encoded(v).decode() for v in (self.salt, self.stored_key, self.server_key))
        return f"{PLAIN}${self.iterations}:{salt}${stored}:{server}"

    def __repr__(self) -> str:
        return "Verifier(...)"


def parse_verifier(text: str) -> Verifier | None:
    """The verifier that a text is; None if it is none, and so a password."""
    found = _STORED.fullmatch(text)
    if found is None or int(found[1]) > ITERATIONS_MAX:
        return None
    salt, stored_key, server_key = (_bytes(part.encode()) for part in found.groups()[1:])
    if not salt or stored_key is None or server_key is None:
        return None
    if len(stored_key) != _KEY_BYTES or len(server_key) != _KEY_BYTES:
        return None
    return Verifier(int(found[1]), salt, stored_key, server_key)


def make_verifier(password: str, salt: bytes, iterations: int = ITERATIONS) -> str:
    """What is kept of a password; `salt` is SALT_BYTES of chance."""
    return str(_verifier(password, salt, iterations))


def mock_verifier(secret: bytes, user: str) -> Verifier:
    """Stands for a password that does not exist: always the same for one user and one secret."""
    salt, stored_key, server_key = (
        hmac.digest(secret, part + user.encode("utf-8", "surrogatepass"), "sha256")
        for part in (b"salt:", b"stored:", b"server:")
    )
    return Verifier(ITERATIONS, salt[:SALT_BYTES], stored_key, server_key)


def password_matches(verifier: Verifier, password: str) -> bool:
    """Whether this is the password; takes the same time whatever the answer."""
    given = _verifier(password, verifier.salt, verifier.iterations)
    return hmac.compare_digest(given.stored_key, verifier.stored_key)


def saslprep(password: str) -> str:
    """RFC 4013, as far as PostgreSQL goes: what it prohibits is a password too, taken as it is."""
    if password.isascii():
        return password
    mapped = "".join(
        " " if stringprep.in_table_c12(c) else "" if stringprep.in_table_b1(c) else c for c in password
    )
    prepared = unicodedata.normalize("NFKC", mapped)
    if not prepared or any(refused(c) for refused in _PROHIBITED for c in prepared):
        return password
    if any(stringprep.in_table_d1(c) for c in prepared):
        both = any(stringprep.in_table_d2(c) for c in prepared)
        if both or not (stringprep.in_table_d1(prepared[0]) and stringprep.in_table_d1(prepared[-1])):
            return password
    return prepared


_PROHIBITED: Final[tuple[Callable[[str], bool], ...]] = (
    stringprep.in_table_a1,
    stringprep.in_table_c12,
    stringprep.in_table_c21_c22,
    *(stringprep.in_table_c3, stringprep.in_table_c4, stringprep.in_table_c5, stringprep.in_table_c6),
    *(stringprep.in_table_c7, stringprep.in_table_c8, stringprep.in_table_c9),
)


def mechanisms(binding: bytes | None) -> tuple[str, ...]:
    """What is offered, the best first; `binding` is the hash of our certificate, None without TLS."""
    return (PLAIN,) if binding is None else (PLUS, PLAIN)


class Exchange:
    """One client's login: `first`, then `final`, each once and in this order."""

    def __init__(
        self, verifier: Verifier, genuine: bool, mechanism: str, binding: bytes | None, nonce: bytes
    ) -> None:
        """`genuine` says that somebody has this verifier; `nonce` is NONCE_BYTES of chance."""
        if mechanism not in mechanisms(binding):
            raise UserError("client selected an invalid SASL authentication mechanism", "08P01")
        self._verifier = verifier
        self._genuine = genuine
        self._plus = mechanism == PLUS
        self._binding = binding
        self._ours = _encoded(nonce)
        self._header = b""
        self._bare = b""
        self._nonce = b""
        self._server_first = b""

    def first(self, message: bytes) -> bytes:
        """Read the client's first message and answer it."""
        _check_text(message)
        flag, rest = _cut(message)
        self._check_flag(flag)
        authorization, bare = _cut(rest)
        if authorization.startswith(b"a"):
            raise UserError("client uses authorization identity, but it is not supported", "0A000")
        if authorization:
            raise _malformed("Unexpected attribute before the user's name.")
        if bare.startswith(b"m"):
            raise UserError("client requires an unsupported SCRAM extension", "0A000")
        names = _attributes(bare)
        if [name for name, _ in names[:2]] != [b"n", b"r"]:
            raise _malformed("The client's first message has no name and nonce.")
        nonce = names[1][1]
        if not _PRINTABLE.fullmatch(nonce):
            raise UserError("non-printable characters in SCRAM nonce", "08P01")
        self._header = message[: len(message) - len(bare)]
        self._bare = bare
        self._nonce = nonce + self._ours
        salt = _encoded(self._verifier.salt)
        self._server_first = b"r=%b,s=%b,i=%d" % (self._nonce, salt, self._verifier.iterations)
        return self._server_first

    def final(self, message: bytes) -> bytes | None:
        """Check the client's proof: our own in return, or None if the password is another one."""
        if not self._server_first:
            raise _malformed("The client's final message came first.")
        _check_text(message)
        unproven, comma, proof_text = message.rpartition(b",p=")
        if not comma:
            raise _malformed("The client's final message has no proof.")
        named = _attributes(unproven)
        if [name for name, _ in named[:2]] != [b"c", b"r"]:
            raise _malformed("The client's final message has no channel binding and nonce.")
        self._check_binding(named[0][1])
        if not hmac.compare_digest(named[1][1], self._nonce):
            raise UserError("invalid SCRAM response", "08P01", detail="Nonce does not match.")
        proof = _bytes(proof_text)
        if proof is None or len(proof) != _KEY_BYTES:
            raise _malformed("Malformed proof in client-final-message.")
        signed = b",".join((self._bare, self._server_first, unproven))
        self._server_first = b""
        signature = hmac.digest(self._verifier.stored_key, signed, "sha256")
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        proven = hmac.compare_digest(hashlib.sha256(client_key).digest(), self._verifier.stored_key)
        ours = hmac.digest(self._verifier.server_key, signed, "sha256")
        return b"v=" + _encoded(ours) if proven and self._genuine else None

    def _check_flag(self, flag: bytes) -> None:
        """What the client says of channel binding must be true of this connection."""
        if flag in (b"n", b"y"):
            if self._plus:
                raise _malformed(
                    "The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not include"
                    " channel binding data."
                )
            if flag == b"y" and self._binding is not None:
                raise UserError(
                    "SCRAM channel binding negotiation error",
                    "28000",
                    detail="The client supports SCRAM channel binding but thinks the server does not. "
                    " However, this server does support channel binding.",
                )
            return
        if not flag.startswith(b"p="):
            raise _malformed("Unexpected channel-binding flag.")
        if not self._plus:
            raise _malformed(
                "The client selected SCRAM-SHA-256 without channel binding, but the SCRAM message includes"
                " channel binding data."
            )
        if flag[2:] != _BINDING_TYPE:
            raise UserError("unsupported SCRAM channel-binding type", "08P01")

    def _check_binding(self, given: bytes) -> None:
        wanted = _encoded(self._header + (self._binding or b"" if self._plus else b""))
        if not hmac.compare_digest(given, wanted):
            if self._plus:
                raise UserError(_FAILED_BINDING, "28000")
            raise UserError("unexpected SCRAM channel-binding attribute in client-final-message", "08P01")


def _verifier(password: str, salt: bytes, iterations: int) -> Verifier:
    prepared = saslprep(password).encode("utf-8", "surrogatepass")
    salted = hashlib.pbkdf2_hmac("sha256", prepared, salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    return Verifier(iterations, salt, hashlib.sha256(client_key).digest(), server_key)


def _check_text(message: bytes) -> None:
    if not message:
        raise _malformed("The message is empty.")
    if b"\x00" in message:
        raise _malformed("Message length does not match input length.")


def _cut(message: bytes) -> tuple[bytes, bytes]:
    before, comma, after = message.partition(b",")
    if not comma:
        raise _malformed("Comma expected.")
    return before, after


def _attributes(message: bytes) -> list[tuple[bytes, bytes]]:
    """Letters and their values; extensions that are not mandatory are let be."""
    found = []
    for part in message.split(b","):
        if not part[:1].isalpha() or part[1:2] != b"=":
            raise _malformed("Attribute expected.")
        found.append((part[:1], part[2:]))
    return found


def _encoded(value: bytes) -> bytes:
    return base64.b64encode(value)


def _bytes(text: bytes) -> bytes | None:
    """What is encoded, in the one way there is: bits that nobody reads are zero."""
    try:
        found = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
    return found if _encoded(found) == text else None


def _malformed(detail: str) -> UserError:
    return UserError("malformed SCRAM message", "08P01", detail=detail)
