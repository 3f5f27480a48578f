"""How a Kafka broker is reached: settings of the client library, short questions, errors.

    options of a connection (JSON, from the catalog)
      + values of its secrets, asked for now
      = settings of librdkafka

Certificates and keys are handed over as text, never as files.  All questions have a bound in time.

Not here: reading messages (consume.py), what topics have (topic.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import TransientError, UserError
from headwater.core.limits import KAFKA_ANSWER_S_MAX
from headwater.sources.connections import text_of
from headwater.sources.contract import Secrets
from headwater.sources.external import EXTERNAL_ONLY, addresses

T = TypeVar("T")

NAMESPACE: Final = "kafka"
_SASL: Final = "SASL"
_ENCRYPTED: Final = ("SSL", "SASL_SSL")
_GLANCE_S: Final = 0.5
"""So often it is looked whether there is a reason not to wait any longer."""
_HOPELESS: Final = (KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION, KafkaError._SSL)
_HANDSHAKE: Final = "SSL handshake failed"
"""Also said of a broker that hangs up, since it does not expect TLS."""
_REACHABLE: Final = (
    "See to it that the broker runs, that BROKER names where it listens, as this machine sees it, and that"
    " SECURITY PROTOCOL is what it expects there: SSL or SASL_SSL unless the connection says otherwise."
)


def settings(connection: Mapping[str, Any], secrets: Secrets) -> dict[str, Any]:
    """Of a client of whichever sort."""
    for broker in connection["brokers"]:
        addresses(connection, broker.rpartition(":")[0].strip("[]"))
    if connection.get(EXTERNAL_ONLY) and connection["security_protocol"] not in _ENCRYPTED:
        raise _in_the_clear(connection["security_protocol"])
    made: dict[str, Any] = {
        "bootstrap.servers": ",".join(connection["brokers"]),
        "client.id": "headwater",
        "security.protocol": connection["security_protocol"],
        "socket.connection.setup.timeout.ms": KAFKA_ANSWER_S_MAX * 1000,
        "socket.timeout.ms": KAFKA_ANSWER_S_MAX * 1000,
        "reconnect.backoff.max.ms": 2_000,
        "log_level": 0,
    }
    if connection["security_protocol"].startswith(_SASL):
        made["sasl.mechanism"] = connection["sasl_mechanisms"]
        made["sasl.username"] = text_of(connection, "sasl_username", secrets)
        made["sasl.password"] = text_of(connection, "sasl_password", secrets)
    for setting, option in (
        ("ssl.ca.pem", "ssl_certificate_authority"),
        ("ssl.certificate.pem", "ssl_certificate"),
        ("ssl.key.pem", "ssl_key"),
    ):
        value = text_of(connection, option, secrets)
        if value is not None:
            made[setting] = value
    return made


def _in_the_clear(protocol: str) -> TransientError:
    """The client library resolves names once more, and goes where brokers say.  What it meets there hears
    nothing but the beginning of a handshake as long as it has no certificate for the name; without TLS it
    would hear a user name and a password of the user's choice."""
    return TransientError(
        f"SECURITY PROTOCOL {protocol} is not encrypted, and this server connects to external addresses only",
        hint="Use SSL or SASL_SSL. The operator can allow all:"
        " ALTER SYSTEM SET storage_enforce_external_addresses = off.",
    )


def fingerprint(made: Mapping[str, Any]) -> str:
    """What tells settings apart, without their secrets being kept anywhere."""
    return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()


class Trouble:
    """Hears why brokers cannot be reached: the client library tells it on the side."""

    def __init__(self) -> None:
        self._last: KafkaError | None = None
        self.hopeless = False  # whether it is of no use to wait for an answer

    def __call__(self, error: KafkaError) -> None:
        if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
            return  # no group is joined, but the client looks for it
        self.hopeless |= error.code() in _HOPELESS
        if self._last is None or error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._last = error

    def over(self) -> None:
        """There was an answer: what was heard before says nothing of what comes."""
        self._last, self.hopeless = None, False

    def reason(self, error: KafkaError) -> KafkaError:
        """The better one of what an answer says and of what was heard before."""
        vague = (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN)
        return self._last if self._last is not None and error.code() in vague else error


class Admin:
    """Short questions to the brokers."""

    def __init__(self, connection: Mapping[str, Any], secrets: Secrets) -> None:
        self.brokers = ",".join(connection["brokers"])
        self._connection = connection
        self._trouble = Trouble()
        try:
            config: dict[str, Any] = {**settings(connection, secrets), "error_cb": self._trouble}
            # To a broker that is gone, a client that connects when it is asked connects without a pause.
            self._client = AdminClient({**config, "enable.sparse.connections": False})
        except (KafkaException, ValueError) as error:
            raise TransientError(f"{NAMESPACE}: {_message(error)}") from error

    def ask(self, question: Callable[[AdminClient], T]) -> T:
        """TransientError with the reason if there is no answer in time."""
        self._trouble.hopeless = False
        try:
            self._check_advertised()
            return question(self._client)
        except KafkaException as error:
            raise self.refused(error.args[0]) from error

    def _check_advertised(self) -> None:
        """Brokers say themselves where they and the others listen, and the client library goes there as soon
        as it needs one; whoever asks them first is told by those that the connection names."""
        if self._connection.get(EXTERNAL_ONLY):
            for broker in self._client.list_topics(timeout=KAFKA_ANSWER_S_MAX).brokers.values():
                try:
                    addresses(self._connection, broker.host or "")
                except TransientError:
                    self._trouble.hopeless = True
                    raise

    def brokers_known(self) -> None:
        """TransientError unless there is a broker that lets us in; as soon as that is clear."""
        deadline = SYSTEM_CLOCK.monotonic_s() + KAFKA_ANSWER_S_MAX
        while True:
            try:
                self.ask(lambda client: client.list_topics(timeout=_GLANCE_S))
                self._trouble.over()
                return
            except TransientError:
                if self._trouble.hopeless or SYSTEM_CLOCK.monotonic_s() > deadline:
                    raise

    def answers(self, question: Callable[[AdminClient], Mapping[Any, Future[Any]]]) -> dict[Any, Any]:
        """What came of each of several questions: an answer, or the KafkaError that it got."""
        found: dict[Any, Any] = {}
        for asked, future in self.ask(question).items():
            try:
                found[asked] = self._result(future)
                self._trouble.over()
            except KafkaException as error:
                found[asked] = error.args[0]
        self._client.poll(0)
        return found

    def _result(self, future: Future[T]) -> T:
        deadline = SYSTEM_CLOCK.monotonic_s() + KAFKA_ANSWER_S_MAX + 1
        while True:
            try:
                return future.result(_GLANCE_S)
            except TimeoutError as error:
                self._client.poll(0)
                if self._trouble.hopeless or SYSTEM_CLOCK.monotonic_s() > deadline:
                    raise self.refused(KafkaError(KafkaError._TIMED_OUT)) from error

    def refused(self, error: KafkaError) -> TransientError:
        """An error that an answer consists of."""
        self._client.poll(0)
        return trouble(self._trouble.reason(error), self.brokers)


def trouble(error: KafkaError, brokers: str) -> TransientError:
    """Why brokers gave no answer, and what could be done."""
    code, hint = error.code(), _REACHABLE
    if code in (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED):
        hint = (
            "ALTER CONNECTION .. SET (SASL USERNAME .., SASL PASSWORD ..), or let the user in at the broker."
        )
    elif code == KafkaError._SSL or _HANDSHAKE in error.str():
        hint = (
            "Look at SECURITY PROTOCOL, which is SSL or SASL_SSL unless the connection says otherwise, and at"
            " its certificates."
        )
    elif code == KafkaError.TOPIC_AUTHORIZATION_FAILED:
        hint = "Grant READ and DESCRIBE on the topic to the user of the connection."
    return TransientError(f'{NAMESPACE}: {_shown(error)} at "{brokers}"', hint=hint)


def _shown(error: KafkaError) -> str:
    return f"{error.name().strip('_').lower().replace('_', ' ')}: {error.str()}"


def _message(error: Exception) -> str:
    inner = error.args[0] if error.args else error
    return inner.str() if isinstance(inner, KafkaError) else str(inner)


def validate(connection: Mapping[str, Any], secrets: Secrets) -> None:
    """UserError unless the brokers let us in now."""
    detail = f'The connection is to "{",".join(connection["brokers"])}".'
    try:
        Admin(connection, secrets).brokers_known()
    except TransientError as error:
        reason = str(error).removeprefix(f"{NAMESPACE}: ")
        raise UserError(
            f"Meta data fetch error: {reason}", "58000", detail=detail, hint=error.hint
        ) from error
