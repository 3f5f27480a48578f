"""Certificates for tests, made with openssl: an authority, a server's, a client's.

made = Authority(directory, "one")
certificate, key = made.sign("localhost", names=("localhost",))
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True, slots=True)
class Signed:
    """A certificate and its key, in PEM."""

    certificate: str
    key: str


class Authority:
    """Signs certificates; `certificate` is its own."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory / name
        self._directory.mkdir(parents=True)
        _openssl(
            *("req", "-x509", *_KEY, "-days", "2", "-subj", f"/CN={name}"),
            *("-keyout", str(self._directory / "ca.key"), "-out", str(self._directory / "ca.crt")),
        )
        self.certificate = (self._directory / "ca.crt").read_text()

    def sign(self, subject: str, names: tuple[str, ...] = ()) -> Signed:
        """A certificate for a subject (a user, for a client), with host names."""
        base = self._directory / subject
        _openssl(
            *("req", *_KEY, "-subj", f"/CN={subject}", "-keyout", f"{base}.key", "-out", f"{base}.csr"),
        )
        extensions = Path(f"{base}.ext")
        hosts = ",".join(f"DNS:{name}" for name in names)
        extensions.write_text(f"subjectAltName={hosts}\n" if names else "basicConstraints=CA:FALSE\n")
        _openssl(
            *("x509", "-req", "-in", f"{base}.csr", "-days", "2", "-extfile", str(extensions)),
            *("-CA", str(self._directory / "ca.crt"), "-CAkey", str(self._directory / "ca.key")),
            *("-CAcreateserial", "-out", f"{base}.crt"),
        )
        return Signed(Path(f"{base}.crt").read_text(), Path(f"{base}.key").read_text())

    def revoke(self, *signed: Signed) -> str:
        """The list of those that it has revoked, in PEM."""
        key = load_pem_private_key((self._directory / "ca.key").read_bytes(), None)
        now = datetime.now(UTC)
        issuer = x509.load_pem_x509_certificate(self.certificate.encode()).subject
        made = x509.CertificateRevocationListBuilder().issuer_name(issuer)
        made = made.last_update(now - timedelta(days=1)).next_update(now + timedelta(days=1))
        for one in signed:
            number = x509.load_pem_x509_certificate(one.certificate.encode()).serial_number
            revoked = x509.RevokedCertificateBuilder().serial_number(number).revocation_date(now)
            made = made.add_revoked_certificate(revoked.build())
        return made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()  # type: ignore[arg-type]


def _openssl(*arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]} failed:\n{done.stderr}")
