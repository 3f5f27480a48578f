"""Certificates that cannot be used are named with what is wrong; those that can, are.

Method: files made by openssl, and broken in one way at a time.
"""

from __future__ import annotations

import hashlib
import ssl
import subprocess
from pathlib import Path

import pytest

from headwater.core.errors import UserError
from headwater.options import TlsOptions, tls_options
from headwater.tls import Tls
from tests.support.certificates import Authority


@pytest.fixture
def files(tmp_path: Path) -> TlsOptions:
    signed = Authority(tmp_path, "authority").sign("localhost", ("localhost",))
    (tmp_path / "crt").write_text(signed.certificate)
    (tmp_path / "key").write_text(signed.key)
    (tmp_path / "ca").write_text(signed.certificate)
    return TlsOptions(tmp_path / "crt", tmp_path / "key", True, tmp_path / "ca")


def test_the_binding_is_the_certificate_s_hash(files: TlsOptions) -> None:
    der = ssl.PEM_cert_to_DER_cert(files.certificate.read_text())
    assert Tls(files).current.binding == hashlib.sha256(der).digest()


@pytest.mark.parametrize(("algorithm", "bound"), [("ed25519", False), ("rsa:2048", True)])
def test_kinds_of_keys(tmp_path: Path, algorithm: str, bound: bool) -> None:
    crt, key = tmp_path / "crt", tmp_path / "key"
    words = ["openssl", "req", "-x509", "-newkey", algorithm, "-nodes", "-subj", "/CN=x", "-sha384"]
    subprocess.run([*words, "-keyout", str(key), "-out", str(crt)], check=True, capture_output=True)
    binding = Tls(TlsOptions(crt, key)).current.binding
    assert (None if binding is None else len(binding)) == (48 if bound else None)


@pytest.mark.parametrize("name", ["certificate", "key", "client_ca"])
@pytest.mark.parametrize("content", [None, "", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_what_cannot_be_used_is_named(files: TlsOptions, name: str, content: str | None) -> None:
    path: Path = getattr(files, name)
    path.unlink()
    if content is not None:
        path.write_text(content)
    with pytest.raises(UserError) as raised:
        Tls(files)
    assert str(path) in raised.value.message


def test_a_key_with_a_passphrase_is_refused_and_nobody_is_asked(files: TlsOptions) -> None:
    words = [
        "openssl",
        "ec",
        "-aes256",
        "-passout",
        "pass:hush",
        "-in",
        str(files.key),
        "-out",
        str(files.key),
    ]
    subprocess.run(words, check=True, capture_output=True)
    with pytest.raises(UserError, match="cannot be used") as raised:
        Tls(files)
    assert "passphrase" in (raised.value.hint or "")


def test_options_fit_together() -> None:
    crt, key = Path("crt"), Path("key")
    assert tls_options(None, None, None, None) is None
    assert tls_options("disable", crt, key, None) is None
    assert tls_options(None, crt, key, None) == TlsOptions(crt, key, True)
    assert tls_options("allow", crt, key, crt) == TlsOptions(crt, key, False, crt)
    assert tls_options("allow", crt, key, crt, key) == TlsOptions(crt, key, False, crt, key)
    with pytest.raises(UserError, match="--tls-crl needs --tls-client-ca"):
        tls_options(None, crt, key, None, crt)
    for wrong in (("require", None, None, None), (None, crt, None, None), (None, None, None, crt)):
        with pytest.raises(UserError, match="TLS needs a certificate and its key"):
            tls_options(*wrong)
