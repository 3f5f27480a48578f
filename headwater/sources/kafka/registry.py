"""A schema registry that speaks Confluent's protocol: subjects, schemas by number, what they refer to.

What has a number, or is a version of a subject, never changes.  A source keeps what it was told of it for as
long as it is there: nothing is asked while no new schema comes.  That there is no schema with a number is an
answer as well, and is not kept: the message that has the number is a bad one.

Not here: what schemas mean (decode/).
"""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlsplit

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import TransientError, UserError
from headwater.core.limits import (
    REGISTRY_ABSENT_S,
    REGISTRY_ANSWER_BYTES_MAX,
    REGISTRY_ANSWER_S_MAX,
    REGISTRY_WAIT_EVERY_S,
)
from headwater.sources.connections import text_of
from headwater.sources.contract import Answers, Secrets
from headwater.sources.external import addresses

_ACCEPTED: Final = "application/vnd.schemaregistry.v1+json, application/json"
_DEPTH_MAX: Final = 16

_NO_SCHEMA: Final = 40403
_AGAIN_S: Final = 0.2
_PIECE_BYTES: Final = 1024 * 1024

_waited: dict[str, float] = {}  # by URL, since when a schema was waited for that a registry does not have


@dataclass(frozen=True, slots=True)
class Reference:
    """Another schema that a schema uses, by the name that it uses."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema of a registry; `type` is AVRO, PROTOBUF or JSON."""

    id: int
    type: str
    text: str
    references: tuple[Reference, ...] = ()


class NotFound(Exception):
    """The registry has no such thing; `schema`: it says itself that it is a schema that it has not."""

    def __init__(self, schema: bool) -> None:
        super().__init__()
        self.schema = schema


class Registry:
    """A registry behind a connection; `answers`: of the source that asks, if it is one."""

    def __init__(
        self, connection: Mapping[str, Any], secrets: Secrets, answers: Answers | None = None
    ) -> None:
        self.url: str = connection["url"]
        self._answers = answers
        self._connection = connection
        self._secrets = secrets

    def subjects(self) -> list[str]:
        """All there are; whoever gets an answer may use the registry."""
        found: list[str] = self._get("/subjects")
        return found

    def latest(self, subject: str) -> Schema | None:
        """The newest schema of a subject; None if there is no such subject."""
        try:
            return self._schema(self._get(f"/subjects/{quote(subject, safe='')}/versions/latest"))
        except NotFound:
            return None

    def by_id(self, id_: int) -> Schema:
        """The schema with this number; UserError if there is none."""
        return self._schema({**self._numbered(id_), "id": id_})

    def _numbered(self, id_: int) -> Mapping[str, Any]:
        """What the registry has under a number: one of its servers may hear of it a little later."""
        while True:
            try:
                return self._lasting(f"/schemas/ids/{id_}")
            except NotFound as error:
                text = f'schema registry "{self.url}" has no schema {id_}'
                if not error.schema:  # whoever answers may not be the registry
                    raise TransientError(f"kafka: {text}, by which a message was written") from None
                if not _worth_waiting(self.url):
                    raise UserError(text, "42704") from None
            SYSTEM_CLOCK.sleep(_AGAIN_S)

    def referred(self, schema: Schema) -> dict[str, Schema]:
        """All that a schema uses, by name, and what these use; those that are used come first."""
        found: dict[str, Schema] = {}
        self._gather(schema, found, 0)
        return found

    def _gather(self, schema: Schema, found: dict[str, Schema], depth: int) -> None:
        if depth > _DEPTH_MAX:
            raise UserError("schemas refer to each other too deeply", "22023")
        for reference in schema.references:
            if reference.name in found:
                continue
            path = f"/subjects/{quote(reference.subject, safe='')}/versions/{reference.version}"
            try:
                used = self._schema(self._lasting(path))
            except NotFound:
                raise TransientError(
                    f'kafka: schema registry "{self.url}" has no version {reference.version} of subject'
                    f' "{reference.subject}", to which another schema refers'
                ) from None
            self._gather(used, found, depth + 1)
            found[reference.name] = used

    @staticmethod
    def _schema(told: Mapping[str, Any]) -> Schema:
        references = tuple(
            Reference(one["name"], one["subject"], int(one["version"]))
            for one in told.get("references") or ()
        )
        return Schema(int(told["id"]), told.get("schemaType") or "AVRO", told["schema"], references)

    def _lasting(self, path: str) -> Mapping[str, Any]:
        """An answer that will always be the same; a source asks once."""
        if self._answers is None:
            return dict(self._get(path))
        question = f"{self.url}{path}"
        known = self._answers.recall(question)
        if known is None:
            known = json.dumps(self._get(path)).encode()
            self._answers.keep(question, known)
        return dict(json.loads(known))

    def _get(self, path: str) -> Any:
        """TransientError unless there is an answer in time; NotFound if it is that there is no such thing."""
        place = urlsplit(self.url)
        try:
            with closing(self._connect(place.scheme, place.hostname or "", place.port)) as connection:
                connection.request("GET", path, headers=self._headers())
                answer = connection.getresponse()
                body = _body(answer)
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
            raise TransientError(
                f'kafka: could not reach schema registry "{self.url}": {reason}',
                hint="See to it that the registry runs and that URL is where it listens.",
            ) from error
        if answer.status == 404:
            raise NotFound(_error_code(body) == _NO_SCHEMA)
        if answer.status != 200:
            hint = "Look at USER and PASSWORD of the connection." if answer.status in (401, 403) else None
            raise TransientError(
                f'kafka: schema registry "{self.url}" answered {answer.status} {answer.reason}', hint=hint
            )
        try:
            return json.loads(body)
        except ValueError as error:
            raise TransientError(
                f'kafka: schema registry "{self.url}" answered with something that is no JSON',
                hint="Let URL name a registry that speaks Confluent's protocol.",
            ) from error

    def _connect(self, scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
        made: http.client.HTTPConnection
        if scheme == "https":
            made = http.client.HTTPSConnection(
                host, port, timeout=REGISTRY_ANSWER_S_MAX, context=self._trust()
            )
        else:
            made = http.client.HTTPConnection(host, port, timeout=REGISTRY_ANSWER_S_MAX)
        allowed = addresses(self._connection, host)
        if allowed:
            # Connected here, to what was looked at: the name is not resolved once more.
            plain = socket.create_connection((allowed[0], made.port), REGISTRY_ANSWER_S_MAX)
            made.sock = self._trust().wrap_socket(plain, server_hostname=host) if scheme == "https" else plain
        return made

    def _trust(self) -> ssl.SSLContext:
        authority = self._text("ssl_certificate_authority")
        return ssl.create_default_context(cadata=authority)

    def _text(self, option: str) -> str | None:
        return text_of(self._connection, option, self._secrets)

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": _ACCEPTED}
        user = self._text("user")
        if user is not None:
            login = f"{user}:{self._text('password') or ''}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(login).decode()}"
        return headers


def _body(answer: http.client.HTTPResponse) -> bytes:
    """All of it; OSError if that does not come to an end."""
    until_s = SYSTEM_CLOCK.monotonic_s() + REGISTRY_ANSWER_S_MAX
    body = bytearray()
    while piece := answer.read1(_PIECE_BYTES):
        body += piece
        if len(body) > REGISTRY_ANSWER_BYTES_MAX:
            raise OSError(f"its answer has more than {REGISTRY_ANSWER_BYTES_MAX} bytes")
        if SYSTEM_CLOCK.monotonic_s() > until_s:
            raise OSError(f"its answer takes more than {REGISTRY_ANSWER_S_MAX:g} s")
    if answer.length:
        raise http.client.IncompleteRead(bytes(body), answer.length)
    return bytes(body)


def _error_code(body: bytes) -> int | None:
    """What a registry says beside the status of an answer."""
    try:
        return int(json.loads(body)["error_code"])
    except (ValueError, TypeError, KeyError):
        return None


def _worth_waiting(url: str) -> bool:
    """Whether a schema may still come.  Now and then only: messages may have any number in them."""
    now_s = SYSTEM_CLOCK.monotonic_s()
    if now_s > _waited.get(url, float("-inf")) + REGISTRY_WAIT_EVERY_S:
        _waited[url] = now_s
    return now_s < _waited[url] + REGISTRY_ABSENT_S


def validate(connection: Mapping[str, Any], secrets: Secrets) -> None:
    """UserError unless the registry answers."""
    try:
        Registry(connection, secrets).subjects()
    except NotFound:
        raise UserError(
            f'"{connection["url"]}" is no schema registry: it has no /subjects',
            "58000",
            hint="Let URL name a registry that speaks Confluent's protocol.",
        ) from None
    except TransientError as error:
        raise UserError(str(error).removeprefix("kafka: "), "58000", hint=error.hint) from error
