"""Topics that the connection's user may know of, or read, or neither; and that change their mind.

Method: brokers with an authorizer, which let nobody do what was not allowed.
"""

from __future__ import annotations

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from tests.kafka.conftest import USERS
from tests.support.kafka import KafkaServer
from tests.support.mirror import Mirror
from tests.support.server import HeadwaterServer, eventually
from tests.support.several import OFTEN, Several

((USER, PASSWORD),) = USERS.items()


def allow(kafka: KafkaServer, topic: str, operation: AclOperation) -> None:
    allowed = AclPermissionType.ALLOW
    literal = ResourcePatternType.LITERAL
    rule = AclBinding(ResourceType.TOPIC, topic, literal, f"User:{USER}", "*", operation, allowed)
    for done in kafka.admin().create_acls([rule]).values():
        done.result(10)


def forbid(kafka: KafkaServer, topic: str, operation: AclOperation) -> None:
    allowed = AclPermissionType.ALLOW
    literal = ResourcePatternType.LITERAL
    rule = AclBindingFilter(ResourceType.TOPIC, topic, literal, f"User:{USER}", "*", operation, allowed)
    for done in kafka.admin().delete_acls([rule]).values():
        done.result(10)


def test_topics_that_may_not_be_read_keep_nobody_else(server: HeadwaterServer, guarded: KafkaServer) -> None:
    here = Mirror(server, guarded)
    several = Several(here)
    read, known, hidden = here.topic(), here.topic(), here.topic()
    here.run(
        f"CREATE SECRET password AS '{PASSWORD}'",
        f"CREATE CONNECTION guarded TO KAFKA (BROKER '{guarded.address('SASL_PLAINTEXT')}', SECURITY PROTOCOL"
        f" SASL_PLAINTEXT, SASL MECHANISMS 'PLAIN', SASL USERNAME '{USER}', SASL PASSWORD SECRET password)",
    )
    allow(guarded, read, AclOperation.READ)
    allow(guarded, known, AclOperation.DESCRIBE)
    for topic in (read, known, hidden):
        guarded.produce(topic, [(None, b"a")])
    create = "CREATE SOURCE s FROM KAFKA CONNECTION guarded "
    for topic in (known, hidden):
        said = here.error(f"{create} (TOPICS ('{read}', '{topic}'))")
        assert said.message_primary == f'KAFKA source validation: not authorized to read topic "{topic}"'
        assert said.message_hint == "Allow the connection's user READ and DESCRIBE on it."
        assert "not authorized" in here.refused(f"{create} (TOPIC '{topic}')")
    here.run(f"{create} (TOPIC PATTERN '^{here.schema}'{OFTEN}) WITH (TIMESTAMP INTERVAL '200ms')")
    several.table("tr", read)
    assert several.texts("tr") == ["a"]
    said = here.error(f'CREATE TABLE tk FROM SOURCE s (REFERENCE "{known}") FORMAT TEXT')
    assert said.message_detail == f"{known} may not be read by the connection's user."
    assert "not found" in here.refused(f'CREATE TABLE th FROM SOURCE s (REFERENCE "{hidden}")')
    assert several.offsets(known) == several.offsets(hidden) == {}
    allow(guarded, known, AclOperation.READ)
    several.table("tk", known)
    assert several.texts("tk") == ["a"]
    here.run("SET real_time_recency = on")
    guarded.produce(known, [(None, b"b")])
    assert several.texts("tk") == ["a", "b"]
    here.run("SET real_time_recency = off")
    forbid(guarded, known, AclOperation.READ)
    text = f'kafka: topic "{known}" may not be read by the connection\'s user'
    eventually(lambda: here.status("s") == ("stalled", text), within_s=60)
    guarded.produce(known, [(None, b"c")])
    several.produce(read, [(None, b"b")])
    assert several.texts("tr") == ["a", "b"]
    assert several.texts("tk") == ["a", "b"]
    allow(guarded, known, AclOperation.READ)
    eventually(lambda: several.texts("tk") == ["a", "b", "c"], within_s=60)
    eventually(lambda: here.status("s") == ("running", None), within_s=60)
    here.leave()
