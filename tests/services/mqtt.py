"""An MQTT broker for tests (Eclipse Mosquitto), and a client that subscribes to everything."""

import os
import pwd
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from deploy.local.ports import free_ports
from deploy.local.servers.base import Program, Server, check_port, tied
from tests.services.process import ServerProcess

USER, PASSWORD = "platestream", "for-tests-only"
LISTENER = "listener"
_SYSTEM_FOLDERS = "/usr/sbin:/usr/local/sbin"


@dataclass(frozen=True, kw_only=True)
class MosquittoServer(Server):
    """A broker that requires a password and stores retained messages only in memory.

    ``certificate``: file with certificate and key (PEM), for TLS. ``rules``: topics that the
    stage's user can write, one filter per line; empty: all topics. ``max_packet_bytes``: size of
    the largest accepted packet.
    """

    certificate: Path | None = None
    rules: tuple[str, ...] = ()
    max_packet_bytes: int | None = None
    name: str = "mosquitto"

    def prepare(self) -> None:
        """Write the broker's configuration and passwords."""
        super().prepare()
        passwords = self.directory / "passwords"
        passwords.unlink(missing_ok=True)
        passwords.touch(mode=0o600)
        for user in (USER, LISTENER):
            program = _program("mosquitto_passwd")
            subprocess.run((program, "-b", str(passwords), user, PASSWORD), check=True)
        lines = [f"topic readwrite {each}" for each in self.rules or ("#",)]
        rules = [f"user {USER}", *lines, f"user {LISTENER}", "topic readwrite #"]
        (self.directory / "rules").write_text("\n".join(rules) + "\n")
        (self.directory / "mosquitto.conf").write_text(self._configuration())

    def program(self) -> Program:
        """Return the broker's process."""
        command = (_program("mosquitto"), "-c", str(self.directory / "mosquitto.conf"))
        return Program(name=self.name, command=tied(*command), directory=self.directory.parent)

    def check(self) -> None:
        """Check that the broker accepts connections.

        Raises:
            NotReadyError: the broker does not accept connections yet.
        """
        check_port(self.port)

    def _configuration(self) -> str:
        lines = [
            f"listener {self.port} 127.0.0.1",
            "allow_anonymous false",
            f"password_file {self.directory / 'passwords'}",
            f"acl_file {self.directory / 'rules'}",
            "persistence false",
            f"user {pwd.getpwuid(os.getuid()).pw_name}",
        ]
        if self.max_packet_bytes is not None:
            lines += [f"max_packet_size {self.max_packet_bytes}"]
        if self.certificate is not None:
            lines += [f"certfile {self.certificate}", f"keyfile {self.certificate}"]
        return "\n".join(lines) + "\n"


def _program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{_SYSTEM_FOLDERS}")
    assert found is not None, f"no {name}: apt-get install mosquitto"
    return found


def mosquitto_process(directory: Path, **options: Any) -> ServerProcess:
    """Return a broker that has not been started, for a test that kills or freezes the broker."""
    (port,) = free_ports(1)
    server = MosquittoServer(directory=directory / "mosquitto", port=port, **options)
    return ServerProcess(server, directory / "logs")


@dataclass(frozen=True)
class Heard:
    """A received message. ``retained``: whether the broker had retained the message."""

    topic: str
    payload: bytes
    retained: bool


class Listener:
    """Receives all messages that a broker forwards. Use the listener as a context manager.

    Without acknowledgements (QoS 0), the broker forwards a message before acknowledging it, so the
    listener receives everything that a killed broker had acknowledged.
    """

    def __init__(self, port: int) -> None:
        """Set the broker's port. The listener connects once the block is entered."""
        self._port = port
        self._subscribed = threading.Event()
        self.heard: list[Heard] = []
        self._client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
        self._client.username_pw_set(LISTENER, PASSWORD)
        self._client.on_connect = lambda client, *_: client.subscribe("#", 0)
        self._client.on_subscribe = lambda *_: self._subscribed.set()
        self._client.on_message = self._note
        self._cut_off = threading.Event()
        self._client.on_disconnect = lambda *_: self._cut_off.set()

    def payloads(self, topic: str) -> list[bytes]:
        """Return all payloads received on a topic so far."""
        return [heard.payload for heard in list(self.heard) if heard.topic == topic]

    def latest(self, topic: str) -> bytes | None:
        """Return the latest payload received on a topic, or None."""
        return next(reversed(self.payloads(topic)), None)

    def wait_until_cut_off(self) -> None:
        """Wait until the killed broker's connection ends, after all forwarded messages."""
        assert self._cut_off.wait(30), "the broker is still there"

    def __enter__(self) -> Self:
        self._client.connect("127.0.0.1", self._port)
        self._client.loop_start()
        assert self._subscribed.wait(10), "the broker does not let the test listen"
        return self

    def __exit__(self, *_: object) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def _note(self, _client: object, _data: object, message: paho.MQTTMessage) -> None:
        self.heard.append(Heard(message.topic, bytes(message.payload), message.retain))


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[ServerProcess]:
    """A broker that a test can kill. It starts in a tenth of a second."""
    with mosquitto_process(tmp_path) as process:
        yield process


def port_of(process: ServerProcess) -> int:
    """Return a broker's port."""
    assert isinstance(process.server, MosquittoServer)
    return process.server.port
