"""SCRAM-SHA-256: verifiers that PostgreSQL makes, exchanges that the RFC shows, and nothing else.

Method: the example of RFC 7677 and verifiers of PostgreSQL 15 word by word; a client of our own,
written from the RFC, for whole exchanges with and without channel binding; then what may be wrong
with each message, one thing at a time.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from headwater.core.errors import UserError
from headwater.core.scram import (
    ITERATIONS_MAX,
    PLAIN,
    PLUS,
    Exchange,
    Verifier,
    make_verifier,
    mechanisms,
    mock_verifier,
    parse_verifier,
    password_matches,
    saslprep,
)
from tests.support.wire.scram import Login

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
RFC_CLIENT_FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
RFC_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
RFC_CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
RFC_SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
BINDING = b"\x01" * 32


def verifier(password: str = "pencil") -> Verifier:
    found = parse_verifier(make_verifier(password, SALT))
    assert found is not None
    return found


def exchange(
    mechanism: str = PLAIN,
    binding: bytes | None = None,
    *,
    kept: Verifier | None = None,
    genuine: bool = True,
) -> Exchange:
    return Exchange(kept or verifier(), genuine, mechanism, binding, b"\x07" * 18)


def test_the_example_of_the_rfc(monkeypatch: pytest.MonkeyPatch) -> None:
    made = exchange()
    monkeypatch.setattr(made, "_ours", RFC_NONCE.encode())
    first = made.first(RFC_CLIENT_FIRST)
    assert first == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    assert made.final(RFC_CLIENT_FINAL) == RFC_SERVER_FINAL


@pytest.mark.parametrize(
    ("password", "kept"),
    [
        (
            "pencil",
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
            "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
        )
    ],
)
def test_verifiers_are_postgresql_s(password: str, kept: str) -> None:
    assert make_verifier(password, SALT) == kept
    found = parse_verifier(kept)
    assert found is not None
    assert str(found) == kept
    assert password_matches(found, password)
    assert not password_matches(found, password + "x")


def test_a_verifier_is_not_shown_by_chance() -> None:
    assert repr(verifier()) == "Verifier(...)"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "secret",
        "SCRAM-SHA-256$4096:",
        "SCRAM-SHA-256$0:AAAA$AAAA:AAAA",
        "SCRAM-SHA-256$4096:AAAA$AAAA:AAAA",
        make_verifier("x", SALT).replace("4096", str(ITERATIONS_MAX + 1)),
        make_verifier("x", SALT).replace("==$", "=$"),
        make_verifier("x", SALT) + " ",
        "md5" + "0" * 32,
    ],
)
def test_anything_else_is_a_password(text: str) -> None:
    assert parse_verifier(text) is None


@pytest.mark.parametrize(
    ("given", "prepared"),
    [
        ("a\tb", "a\tb"),  # of ASCII nothing is touched
        ("I\u00adX", "IX"),  # RFC 4013, 3: mapped to nothing
        ("\u00aa", "a"),  # NFKC
        ("\u2168", "IX"),
        ("a\u00a0b\u2003c", "a b c"),
        ("\u00e9", "\u00e9"),
        ("e\u0301", "\u00e9"),
        ("\u00e9\x07", "\u00e9\x07"),  # prohibited, so as it is
        ("\u0627\u0031", "\u0627\u0031"),  # of both directions
        ("\u0627a\u0628", "\u0627a\u0628"),
        ("\U0001f511", "\U0001f511"),  # not in Unicode 3.2
        ("\u00ad", "\u00ad"),  # nothing would be left
    ],
)
def test_passwords_are_prepared_as_postgresql_does(given: str, prepared: str) -> None:
    assert saslprep(given) == prepared


@pytest.mark.parametrize(("mechanism", "binding"), [(PLAIN, None), (PLAIN, BINDING), (PLUS, BINDING)])
def test_who_knows_the_password_is_let_in(mechanism: str, binding: bytes | None) -> None:
    made = exchange(mechanism, binding)
    client = Login("pencil", binding if mechanism == PLUS else None)
    answer = made.final(client.final(made.first(client.first())))
    assert answer is not None
    assert client.trusts(answer)


def test_who_does_not_is_not() -> None:
    made, client = exchange(), Login("pencils")
    assert made.final(client.final(made.first(client.first()))) is None


def test_a_password_that_does_not_exist_is_never_right() -> None:
    kept = verifier()
    made, client = exchange(kept=kept, genuine=False), Login("pencil")
    assert made.final(client.final(made.first(client.first()))) is None


def test_unknown_users_look_like_others() -> None:
    one, again = mock_verifier(b"secret", "one"), mock_verifier(b"secret", "one")
    assert one == again
    assert one.salt != mock_verifier(b"secret", "two").salt
    assert one.salt != mock_verifier(b"other", "one").salt
    assert (len(one.salt), one.iterations) == (len(SALT), 4096)
    assert parse_verifier(str(one)) == one


def test_a_proof_for_another_certificate_is_refused() -> None:
    made, client = exchange(PLUS, BINDING), Login("pencil", b"\x02" * 32)
    first = made.first(client.first())
    with pytest.raises(UserError, match="SCRAM channel binding check failed") as raised:
        made.final(client.final(first))
    assert raised.value.sqlstate == "28000"


def test_a_client_that_was_kept_from_binding_is_told() -> None:
    made = exchange(PLAIN, BINDING)
    with pytest.raises(UserError, match="negotiation error"):
        made.first(b"y,,n=,r=abc")
    exchange(PLAIN, None).first(b"y,,n=,r=abc")  # without TLS it is right


def test_what_is_offered() -> None:
    assert mechanisms(None) == (PLAIN,)
    assert mechanisms(BINDING) == (PLUS, PLAIN)
    for mechanism in ("SCRAM-SHA-1", "", PLUS):
        with pytest.raises(UserError, match="invalid SASL authentication mechanism"):
            exchange(mechanism)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x00",
        b"n",
        b"n,",
        b"n,,",
        b"x,,n=,r=abc",
        b"n,a=me,n=,r=abc",
        b"n,b=me,n=,r=abc",
        b"n,,m=1,n=,r=abc",
        b"n,,r=abc,n=",
        b"n,,n=",
        b"n,,n=,r=",
        b"n,,n=,r=a c",
        b"n,,n=,r=a\xffc",
        b"n,,n=,r=abc,",
        b"n,,n=,r=abc,5=x",
        b"n,,n=,r=abc\x00",
        b"p=tls-server-end-point,,n=,r=abc",
        b"p=tls-unique,,n=,r=abc",
    ],
)
def test_first_messages_that_are_refused(message: bytes) -> None:
    with pytest.raises(UserError) as raised:
        exchange().first(message)
    assert raised.value.sqlstate in ("08P01", "0A000")


@pytest.mark.parametrize("flag", [b"n", b"y", b"p=tls-unique"])
def test_with_plus_the_certificate_must_be_bound(flag: bytes) -> None:
    with pytest.raises(UserError):
        exchange(PLUS, BINDING).first(flag + b",,n=,r=abc")


@pytest.mark.parametrize(
    "change",
    [
        lambda m: b"",
        lambda m: m + b"\x00",
        lambda m: m.partition(b",p=")[0],
        lambda m: m.replace(b"c=biws", b"c=eSws"),
        lambda m: m.replace(b"c=biws,", b""),
        lambda m: m.replace(b"r=", b"r=x"),
        lambda m: m[:-1],
        lambda m: m + b",x=1",
        lambda m: m.partition(b",p=")[0] + b",p=AAAA",
        lambda m: m.partition(b",p=")[0] + b",p=!" + b"A" * 43,
    ],
)
def test_final_messages_that_are_refused(change: object) -> None:
    made, client = exchange(), Login("pencil")
    message = client.final(made.first(client.first()))
    with pytest.raises(UserError) as raised:
        made.final(change(message))  # type: ignore[operator]
    assert raised.value.sqlstate == "08P01"


def test_an_exchange_is_used_once() -> None:
    made, client = exchange(), Login("pencil")
    with pytest.raises(UserError, match="malformed"):
        made.final(b"c=biws,r=x,p=AAAA")
    message = client.final(made.first(client.first()))
    assert made.final(message) is not None
    with pytest.raises(UserError, match="malformed"):
        made.final(message)


def test_extensions_that_are_not_mandatory_are_signed_and_let_be() -> None:
    made = exchange()
    bare = b"n=,r=abc,x=1"
    first = made.first(b"n,," + bare)
    unproven = b"c=biws,r=" + first.split(b",")[0][2:] + b",y=2"
    signed = b",".join((bare, first, unproven))
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", SALT, 4096)
    key = hmac.digest(salted, b"Client Key", "sha256")
    signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True)))
    assert made.final(unproven + b",p=" + proof) is not None
