"""Runs Apache Kafka: one KRaft node, with broker and controller in one Java process."""

import base64
import os
import shutil
import socket
import struct
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path
from string import Template

from deploy.local.files import JARS, java_property, write_whole
from deploy.local.servers.base import (
    JAVA_VARIABLES,
    NotReadyError,
    PortUse,
    Program,
    Server,
    check_port,
    java,
)
from deploy.local.servers.kafka_login import LISTENER, KafkaLogin

_HERE = Path(__file__).parents[1] / "kafka"
# The optimising compiler costs more at startup than it saves under this load. The initial heap is
# small, because the default (1/64 of the machine's memory) would mostly contain garbage.
_JVM = ("-Xms64m", "-Xmx384m", "-XX:TieredStopAtLevel=1")
_ANSWER_SECONDS = 3
# Formatting takes a second or two on an idle CPU, and much longer on a busy machine.
_FORMAT_SECONDS = 300


@dataclass(frozen=True, kw_only=True)
class KafkaServer(Server):
    """The embedded broker."""

    controller_port: int
    max_message_bytes: int = 8_388_608
    login: KafkaLogin | None = None
    """If None, anyone who can reach the port has access."""
    jars: Path = JARS / "kafka"
    name: str = "kafka"

    @property
    def bootstrap_servers(self) -> str:
        """The address that clients use."""
        return f"127.0.0.1:{self.port}"

    def ports(self) -> tuple[PortUse, ...]:
        """Return the ports of the broker and the controller."""
        return (
            *super().ports(),
            PortUse(self.controller_port, "PLATESTREAM_KAFKA_PORT"),
        )

    def prepare(self) -> None:
        """Write the configuration. Format the data folder on the first start."""
        super().prepare()
        self._write_properties("server.properties", self._data)
        if not self._data.exists():
            self._format()

    def program(self) -> Program:
        """Return the command that starts the broker's process."""
        logging = f"-Dlog4j2.configurationFile={_HERE / 'log4j2.yaml'}"
        properties = str(self.directory / "server.properties")
        return Program(
            name=self.name,
            command=java(self.jars, *_JVM, logging, "kafka.Kafka", properties),
            variables=JAVA_VARIABLES,
            directory=self.directory,
            stop_seconds=30,
        )

    def check(self) -> None:
        """Request the API versions, which the broker returns as soon as it accepts requests.

        Raises:
            NotReadyError: the broker is not responding.
        """
        check_port(self.port)
        try:
            error_code = _ask_for_versions(self.port)
        except (OSError, struct.error) as error:
            raise NotReadyError(f"no response: {error or type(error).__name__}") from error
        if error_code != 0:
            raise NotReadyError(f"Kafka error {error_code}")

    def initialise(self) -> None:
        """Create the service's user if the user is missing. ``common.kafka`` creates the topics."""
        if self.login is not None:
            self.login.ensure(self.bootstrap_servers)

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    def _write_properties(self, name: str, data: Path) -> Path:
        template = Template((_HERE / "server.properties.template").read_text())
        text = template.substitute(
            port=self.port,
            controller_port=self.controller_port,
            data=java_property(data),
            max_message_bytes=self.max_message_bytes,
            listener=LISTENER if self.login else "PLAINTEXT",
            login=self.login.properties() if self.login else "",
        )
        write_whole(self.directory / name, text, mode=0o600)
        return self.directory / name

    def _format(self) -> None:
        fresh = self.directory / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        properties = self._write_properties("format.properties", fresh)
        arguments = ("format", *self._format_options(), "-c", str(properties))
        subprocess.run(
            java(self.jars, "-XX:TieredStopAtLevel=1", "kafka.tools.StorageTool", *arguments),
            check=True,
            capture_output=True,
            env=self.program().environment_within(os.environ),
            timeout=_FORMAT_SECONDS,
        )
        properties.unlink()
        fresh.rename(self._data)

    def _format_options(self) -> tuple[str, ...]:
        """Return the options that format the storage of a new one-node cluster."""
        return ("--standalone", "-t", new_cluster_id())


def _ask_for_versions(port: int) -> int:
    """Send an ApiVersions request and return the error code of the response.

    kafka-python is not used here, because a client that cannot connect leaks a thread and a socket.

    **Source:** Kafka protocol guide: request header v1 (key 18, version 0, correlation ID, no
    client ID); the response starts with its length, the correlation ID and the error code.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=_ANSWER_SECONDS) as connection:
        connection.sendall(struct.pack(">ihhih", 10, 18, 0, 1, -1))
        with connection.makefile("rb") as answer:
            _, _, error_code = struct.unpack(">iih", answer.read(10))
    return int(error_code)


def new_cluster_id() -> str:
    """Return a new ID in Kafka's format: 16 random bytes, URL-safe base64, no padding.

    **Source:** org.apache.kafka.common.Uuid. The fixed first byte prevents a leading dash, which
    the storage tool would parse as an option.
    """
    raw = uuid.uuid4().bytes
    return base64.urlsafe_b64encode(b"\x30" + raw[1:]).decode().rstrip("=")
