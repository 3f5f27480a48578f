"""Numbers that a program in Java tells about itself (JMX), read by a small Java of our own.

    metrics.number(port, "kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec", "Count")

Python cannot speak RMI; py4j, which comes with PySpark, lets it ask a Java that can.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from headwater.core.java import java_command


class JavaMetrics:
    """Owns the Java that asks, and its connections."""

    def __init__(self) -> None:
        jar = next((Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar"))
        port, self._process = launch_gateway(
            jarpath=str(jar),
            java_path=java_command(os.environ),
            javaopts=["-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"],
            die_on_exit=True,
            return_proc=True,
        )
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))

    def number(self, port: int, name: str, attribute: str) -> int:
        """Zero for what the program has not counted yet."""
        java: Any = self._gateway.jvm
        remote = java.javax.management.remote
        url = remote.JMXServiceURL(f"service:jmx:rmi:///jndi/rmi://127.0.0.1:{port}/jmxrmi")
        connector = remote.JMXConnectorFactory.connect(url)
        try:
            found = java.javax.management.ObjectName(name)
            return int(connector.getMBeanServerConnection().getAttribute(found, attribute))
        except Py4JJavaError as error:
            if "InstanceNotFoundException" in str(error.java_exception):
                return 0
            raise
        finally:
            connector.close()

    def close(self) -> None:
        self._gateway.close()
        self._process.stdin.close()  # it ends with this
        self._process.wait(10)
