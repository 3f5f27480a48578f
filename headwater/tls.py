"""The server's certificate: read from its files, and again when they change.

    Tls(options)      reads now; what cannot be used is a UserError that says why
    current           contexts for new connections; who has one keeps what it has
    renew()           reads again if a file is another one; what is broken is logged, and the old one kept

A list of revoked certificates counts from the next look on for who comes then; nobody is hung up on.

Files are told apart by what stat says of them, so that links that are moved to another folder count
as well.  A certificate and its key are two files: while only one is new they do not fit together,
the old pair stays, and the next look finds both.

Not here: when to look (server.py), and who is let in (pgwire).
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from headwater.core.errors import UserError
from headwater.options import TlsOptions

_LOG: Final = structlog.get_logger("tls")
_OTHERS: Final = 0o077
_WEAK: Final = (hashes.MD5, hashes.SHA1)

Stamp = tuple[tuple[int, int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """What new connections are made with.  `binding` is the certificate's hash, for proofs that are bound
    to it; None if its kind of signature has no hash."""

    sql: ssl.SSLContext
    web: ssl.SSLContext
    binding: bytes | None


class Tls:
    """The certificate of now."""

    def __init__(self, options: TlsOptions) -> None:
        self.options = options
        self._files = [
            path
            for path in (options.certificate, options.key, options.client_ca, options.crl)
            if path is not None
        ]
        self._stamp = self._stamped()
        self.current = _load(options)
        if options.key.stat().st_mode & _OTHERS:
            _LOG.warning("private key can be read by other users", file=str(options.key))

    def renew(self) -> None:
        """Look whether there is another certificate, and use it from now on."""
        stamp = self._stamped()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self.current = _load(self.options)
        except UserError as error:
            _LOG.error(
                "certificate was not renewed", error=error.message, hint="The one before is still used."
            )
        else:
            _LOG.info("certificate renewed", file=str(self.options.certificate))

    def _stamped(self) -> Stamp:
        return tuple(_stamp(path) for path in self._files)


def _stamp(path: Path) -> tuple[int, int, int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


def _load(options: TlsOptions) -> Identity:
    sql, web = _context(options), _context(options)
    sql.set_alpn_protocols(["postgresql"])
    web.set_alpn_protocols(["http/1.1"])
    if options.client_ca is not None:
        sql.verify_mode = ssl.CERT_OPTIONAL
        try:
            sql.load_verify_locations(cafile=options.client_ca)
        except OSError as error:
            raise _unusable("certificates of authorities", options.client_ca, error) from error
    if options.crl is not None:
        _revoke(sql, options.crl)
    return Identity(sql, web, _binding(options.certificate))


def _revoke(context: ssl.SSLContext, path: Path) -> None:
    """As PostgreSQL does: each authority of a chain needs a list, and one that is not out of date."""
    try:
        x509.load_pem_x509_crl(path.read_bytes())  # OpenSSL would take a file of anything else in PEM
        context.load_verify_locations(cafile=path)
    except (OSError, ValueError) as error:
        raise _unusable("list of revoked certificates", path, error) from error
    context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_CHAIN


def _context(options: TlsOptions) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_CIPHER_SERVER_PREFERENCE
    for what, path in (("certificate", options.certificate), ("private key", options.key)):
        try:
            path.read_bytes()
        except OSError as error:
            raise _unusable(what, path, error) from error
    try:
        # Without a word for it, a key with a passphrase would ask for it on the terminal.
        context.load_cert_chain(options.certificate, options.key, password=lambda: b"")
    except (OSError, ValueError) as error:
        raise UserError(
            f'certificate "{options.certificate}" and private key "{options.key}" cannot be used:'
            f" {_reason(error)}",
            "F0000",
            hint="Both are PEM files, the key belongs to the first certificate and has no passphrase.",
        ) from error
    return context


def _binding(path: Path) -> bytes | None:
    """RFC 5929: the certificate's hash by the algorithm that signed it, or a better one."""
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    algorithm = certificate.signature_hash_algorithm
    if algorithm is None:
        return None
    return certificate.fingerprint(hashes.SHA256() if isinstance(algorithm, _WEAK) else algorithm)


def _unusable(what: str, path: Path, error: OSError | ValueError) -> UserError:
    return UserError(f'{what} "{path}" cannot be used: {_reason(error)}', "F0000")


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or "it is not in PEM").lower().replace("_", " ")
    return (getattr(error, "strerror", None) or str(error)).lower()
