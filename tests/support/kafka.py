"""A throwaway Kafka 4.1 for tests: one to three brokers that keep their metadata themselves (KRaft).

    with KafkaServer() as server:
        server.create_topic("t", partitions=2)
        server.produce("t", [(b"key", b"value")])
        Consumer({"bootstrap.servers": server.address(), ...})

Each server has a folder of its own, and its brokers keep their ports for as long as it lives.  `kill()` and
`halt()` end brokers, `resume()` starts them again on the same data.  Node 1 also keeps the metadata, so
that it is 2 or 3 that is killed when a partition is to get another leader.  `stop()` ends all by their
pids and removes the data.

`guards` are further listeners, with passwords, TLS or both; `PROXIED` is a plain one whose
connections pass a proxy each (`proxies`), also those to which a client is led by the broker.  `log()` is
for whoever sees a test fail.

Not here: how the jars come to be there (scripts/setup.sh), topics and rows (topics.py).
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from headwater.core.java import java_command
from tests.support.certificates import Authority
from tests.support.metrics_of_java import JavaMetrics
from tests.support.ports import free_port
from tests.support.proxy import Proxy
from tests.support.started import Started
from tests.support.topics import Topics

JARS = Path(__file__).resolve().parents[2] / ".cache" / "kafka"
START_S_MAX = 120
STOP_S_MAX = 30
REQUEST_S_MAX = 5

PLAIN, PROXIED = "PLAIN", "PROXIED"
GUARDS = {"SASL_PLAINTEXT": "SASL_PLAINTEXT", "SSL": "SSL", "SASL_SSL": "SASL_SSL", PROXIED: "PLAINTEXT"}
"""What `guards` may name, and the protocol that is spoken there."""

QUICK_JAVA = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
_LOGGING = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
)
_CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"

_SETTINGS = {
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": PLAIN,
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "controlled.shutdown.enable": "true",
    "num.network.threads": "2",
    "num.io.threads": "2",
    "log.cleaner.dedupe.buffer.size": "2097152",
    # A broker that was killed is known to be gone soon.
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "500",
}


def available() -> bool:
    """Whether `make kafka` has been here."""
    return JARS.exists()


@contextmanager
def running(**options: Any) -> Iterator[KafkaServer]:
    """A server for a fixture."""
    if not available():
        pytest.skip("Kafka is not there: make kafka")
    with KafkaServer(**options) as server:
        yield server


class KafkaServer(Topics, Started):
    """One to three brokers; their folder is removed when they stop.

    `users` are name -> password, for PLAIN and both kinds of SCRAM alike.  `client_auth` is what Kafka calls
    ssl.client.auth: `none`, `requested` or `required`.
    """

    def __init__(
        self,
        brokers: int = 1,
        guards: Sequence[str] = (),
        users: Mapping[str, str] | None = None,
        client_auth: str = "none",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = Path(mkdtemp(prefix="kafka-"))
        self.users = dict(users or {})
        self.nodes = tuple(range(1, brokers + 1))
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self.proxies: dict[int, Proxy] = {}
        self.authority: Authority | None = None
        self._guards = tuple(guards)
        self._client_auth = client_auth
        self._settings = dict(settings or {})
        self._ports: dict[tuple[int, str], int] = {}
        self._admitted = False
        self._admin: AdminClient | None = None
        self._metrics: JavaMetrics | None = None

    def start(self) -> KafkaServer:
        """Make the brokers and wait until they answer; once only."""
        for node in self.nodes:
            for name in (PLAIN, "CONTROLLER", "METRICS", *self._guards):
                self._ports[node, name] = free_port()
        if any(guard.endswith("SSL") for guard in self._guards):
            self.authority = Authority(self.directory, "kafka")
        for node in self.nodes:
            self._describe(node)
        self.resume()
        return self

    def resume(self, *nodes: int) -> None:
        """Start those that do not run, on their data and ports."""
        for node in nodes or self.nodes:
            if not self._runs(node):
                self._launch(node)
        try:
            self._wait()
            if self.users and not self._admitted:
                self._admit()
        except BaseException:
            self.stop()
            raise

    def restart(self) -> None:
        """As an administrator would."""
        self.halt()
        self.resume()

    def halt(self, *nodes: int) -> None:
        """Let them end by themselves; the one that keeps the metadata last."""
        for node in sorted(nodes or self.nodes, reverse=True):
            process = self.processes.get(node)
            if process is not None and process.poll() is None:
                process.terminate()
                try:
                    process.wait(STOP_S_MAX)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def kill(self, *nodes: int) -> None:
        """As a power cut."""
        for node in nodes or self.nodes:
            process = self.processes.get(node)
            if process is not None:
                process.kill()
                process.wait()

    def stop(self) -> None:
        """End all at once and remove their files."""
        metrics, self._metrics = self._metrics, None
        if metrics is not None:
            metrics.close()
        self._admin = None
        self.kill()
        self.processes.clear()
        for proxy in self.proxies.values():
            proxy.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def address(self, guard: str = PLAIN) -> str:
        """For bootstrap.servers."""
        return ",".join(f"{_host(guard)}:{self._reached(node, guard)}" for node in self.nodes)

    def admin(self) -> AdminClient:
        """The client by which tests ask; what it was asked fails when nobody has it any more."""
        if self._admin is None:
            config: dict[str, Any] = {
                "bootstrap.servers": self.address(),
                "log_level": 0,
                "reconnect.backoff.max.ms": 100,
            }
            self._admin = AdminClient(config)
        return self._admin

    def authority_certificate(self) -> str:
        """Who signed the certificates of the listeners with TLS, in PEM."""
        assert self.authority is not None, "no listener has TLS"
        return self.authority.certificate

    def bytes_out(self, topic: str) -> int:
        """What consumers have been sent of a topic; the first call takes a second, since it starts a Java."""
        if self._metrics is None:
            self._metrics = JavaMetrics()
        name = f"kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec,topic={topic}"
        ports = [self._ports[node, "METRICS"] for node in self.nodes if self._runs(node)]
        return sum(self._metrics.number(port, name, "Count") for port in ports)

    def log(self) -> str:
        """What the brokers have said."""
        logs = [self._folder(node) / "log" for node in self.nodes]
        said = [log.read_text(errors="replace") for log in logs if log.exists()]
        return "\n".join(said) or "(no log)"

    # One broker

    def _folder(self, node: int) -> Path:
        return self.directory / str(node)

    def _runs(self, node: int) -> bool:
        return node in self.processes and self.processes[node].poll() is None

    def _listens(self, node: int) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._ports[node, PLAIN]), REQUEST_S_MAX).close()
        except OSError:
            return False
        return True

    def _reached(self, node: int, guard: str) -> int:
        return self.proxies[node].port if guard == PROXIED else self._ports[node, guard]

    def _describe(self, node: int) -> None:
        """Its folder, as Kafka's own tool for formatting leaves it, and its settings."""
        data = self._folder(node) / "data"
        data.mkdir(parents=True)
        (data / "meta.properties").write_text(f"version=1\ncluster.id={_CLUSTER_ID}\nnode.id={node}\n")
        if PROXIED in self._guards:
            self.proxies[node] = Proxy(self._ports[node, PROXIED])
        listeners = [PLAIN, *self._guards]
        bound = [f"{name}://127.0.0.1:{self._ports[node, name]}" for name in listeners]
        protocols = {PLAIN: "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}
        protocols |= {guard: GUARDS[guard] for guard in self._guards}
        first = node == self.nodes[0]
        settings = _SETTINGS | {
            "process.roles": "broker,controller" if first else "broker",
            "node.id": str(node),
            "controller.quorum.voters": f"1@127.0.0.1:{self._ports[1, 'CONTROLLER']}",
            "listeners": ",".join(
                [*bound, *([f"CONTROLLER://127.0.0.1:{self._ports[1, 'CONTROLLER']}"] if first else [])]
            ),
            "advertised.listeners": ",".join(
                f"{name}://{_host(name)}:{self._reached(node, name)}" for name in listeners
            ),
            "listener.security.protocol.map": ",".join(
                f"{name}:{protocol}" for name, protocol in protocols.items()
            ),
            "log.dirs": str(data),
            "offsets.topic.replication.factor": str(len(self.nodes)),
            "transaction.state.log.replication.factor": str(len(self.nodes)),
        }
        settings |= self._passwords() | self._certificate() | self._settings
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        (self._folder(node) / "server.properties").write_text(lines)

    def _passwords(self) -> dict[str, str]:
        known = "".join(f' user_{name}="{password}"' for name, password in self.users.items())
        modules = {
            "plain": f"org.apache.kafka.common.security.plain.PlainLoginModule required{known};",
            "scram-sha-256": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
            "scram-sha-512": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
        }
        settings = {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"}
        for guard in self._guards:
            if guard.startswith("SASL"):
                for mechanism, module in modules.items():
                    settings[f"listener.name.{guard.lower()}.{mechanism}.sasl.jaas.config"] = module
        return settings

    def _certificate(self) -> dict[str, str]:
        if self.authority is None:
            return {}
        signed = self.authority.sign("localhost", names=("localhost",))
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": _one_line(signed.certificate),
            "ssl.keystore.key": _one_line(signed.key),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": _one_line(self.authority.certificate),
            "ssl.client.auth": self._client_auth,
        }

    def _launch(self, node: int) -> None:
        folder = self._folder(node)
        port = self._ports[node, "METRICS"]
        remote = "com.sun.management.jmxremote"
        metrics = (
            *(f"-D{remote}.port={port}", f"-D{remote}.rmi.port={port}", f"-D{remote}.host=127.0.0.1"),
            *("-Djava.rmi.server.hostname=127.0.0.1",),
            *(f"-D{remote}.authenticate=false", f"-D{remote}.ssl=false"),
        )
        java = java_command(os.environ)
        assert java is not None, "java was not found"
        with (folder / "log").open("ab") as log:
            self.processes[node] = subprocess.Popen(
                [
                    *(java, *QUICK_JAVA, *_LOGGING, *metrics, "-cp", f"{JARS}/*"),
                    *("kafka.Kafka", str(folder / "server.properties")),
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
            )

    def _wait(self) -> None:
        """Until all brokers that were started listen, and an administrator is told of them.

        Of one that was killed just before the others still tell.
        """
        deadline = time.monotonic() + START_S_MAX
        expected = {node for node in self.nodes if self._runs(node)}
        admin = self.admin()
        while True:
            if any(self.processes[node].poll() is not None for node in expected):
                raise RuntimeError(f"Kafka did not start:\n{self.log()}")
            try:
                if (
                    all(map(self._listens, expected))
                    and expected <= admin.list_topics(timeout=1).brokers.keys()
                ):
                    return
            except KafkaException:
                pass
            if time.monotonic() > deadline:
                raise RuntimeError(f"Kafka did not answer within {START_S_MAX} s:\n{self.log()}")
            time.sleep(0.05)

    def _admit(self) -> None:
        """Tell the brokers the users that log in by SCRAM; PLAIN has them from the settings."""
        # One request may not say two things of a user.
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            wanted: list[Any] = [
                UserScramCredentialUpsertion(name, ScramCredentialInfo(mechanism, 4096), password.encode())
                for name, password in self.users.items()
            ]
            for done in self.admin().alter_user_scram_credentials(wanted).values():
                done.result(REQUEST_S_MAX)
        self._admitted = True


def _host(guard: str) -> str:
    """Certificates are for a name."""
    return "localhost" if guard.endswith("SSL") else "127.0.0.1"


def _one_line(pem: str) -> str:
    return pem.strip().replace("\n", "\\n")
