"""Connections to a real broker: TLS, passwords, access rules and the last will."""

import asyncio
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from common.errors import MisconfiguredError, TransientError
from streams.mqtt.broker import Broker, Connection, RefusedMessageError, tls_context
from streams.mqtt.messages import Message, MessageKind, retained
from streams.mqtt.settings import MqttBrokerSettings
from tests.services.authority import self_signed
from tests.services.mqtt import PASSWORD, USER, Listener, mosquitto_process, port_of
from tests.services.process import ServerProcess
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

THERE = "platestream/status"


@pytest.fixture
def encrypted(tmp_path: Path) -> Iterator[ServerProcess]:
    """A broker that uses TLS."""
    names = [x509.IPAddress(ip_address("127.0.0.1"))]
    certificate = self_signed(tmp_path, names=names)
    with mosquitto_process(tmp_path, certificate=certificate) as process:
        yield process


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[ServerProcess]:
    """A broker that allows the stage to write under one prefix only."""
    with mosquitto_process(tmp_path, rules=("platestream/#",)) as process:
        yield process


@pytest.fixture(autouse=True)
def short_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.mqtt.broker.TIMEOUT_SECONDS", 3.0)


def _broker(process: ServerProcess, **changed: Any) -> Broker:
    given = {
        "mqtt_host": "127.0.0.1",
        "mqtt_port": port_of(process),
        "mqtt_user": USER,
        "mqtt_password": PASSWORD,
    } | changed
    settings = MqttBrokerSettings.model_validate(given)
    return Broker(settings, THERE, tls_context(settings))


async def _send(connection: Connection, *messages: Message) -> list[Message]:
    acknowledged: list[Message] = []
    await connection.send(messages, acknowledged.append)
    return acknowledged


def _event(topic: str, payload: bytes = b"{}") -> Message:
    return Message(topic, payload, MessageKind.RECOGNITION)


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
async def test_all_are_acknowledged_in_order(
    mosquitto: ServerProcess, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.mqtt.broker.IN_FLIGHT", 7)
    sent = [_event("platestream/a", str(number).encode()) for number in range(200)]
    with Listener(port_of(mosquitto)) as listener:
        connection = await _broker(mosquitto, mqtt_protocol=protocol).open()
        assert await _send(connection, *sent) == sent
        assert await _send(connection) == []
        await connection.leave()
        wait_until("all came", lambda: len(listener.payloads("platestream/a")) == len(sent))
        assert listener.payloads("platestream/a") == [message.payload for message in sent]
        wait_until("it said good-bye", lambda: listener.latest(THERE) == b"offline")


async def test_the_last_will_is_published_and_corrected(
    mosquitto: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Listener(port_of(mosquitto)) as listener:
        first = await _broker(mosquitto).open()
        await first.report_online()
        monkeypatch.setattr("streams.mqtt.broker._OWN_NUMBER", "second")
        second = await _broker(mosquitto).open()
        await second.report_online()
        # The connection closes without DISCONNECT, as in a crash, so the broker publishes the will.
        await first.close()
        wanted = [b"online", b"online", b"offline", b"online"]
        await _until(lambda: listener.payloads(THERE) == wanted)
        await second.leave()
        await _until(lambda: listener.payloads(THERE) == [*wanted, b"offline"])


async def _until(condition: Callable[[], bool]) -> None:
    # The connections need this event loop, so a thread waits.
    await asyncio.to_thread(wait_until, "the broker published it", condition, 10)


async def test_what_the_rules_forbid_is_reported(strict: ServerProcess) -> None:
    connection = await _broker(strict).open()
    acknowledged: list[Message] = []
    allowed, forbidden = _event("platestream/a"), retained("homeassistant/a", b"{}")
    with pytest.raises(RefusedMessageError, match="Not authorized"):
        await connection.send([forbidden, allowed], acknowledged.append)
    assert acknowledged == [allowed]
    await connection.close()


async def test_what_is_too_large_for_the_broker_is_reported_and_ends_nothing(
    tmp_path: Path,
) -> None:
    with mosquitto_process(tmp_path, max_packet_bytes=2000) as small:
        connection = await _broker(small).open()
        fits, large = _event("platestream/a", bytes(1900)), _event("platestream/a", bytes(2000))
        with pytest.raises(RefusedMessageError, match="message of 2000 bytes exceeds"):
            await _send(connection, large)
        assert await _send(connection, fits) == [fits]
        await connection.leave()


async def test_a_wrong_password_is_reported(mosquitto: ServerProcess) -> None:
    with pytest.raises(TransientError, match="rejected the connection: Not authorized") as fault:
        await _broker(mosquitto, mqtt_password="wrong-one").open()
    assert "wrong-one" not in str(fault.value)


async def test_tls_needs_a_certificate_that_is_trusted(
    encrypted: ServerProcess, tmp_path: Path
) -> None:
    with pytest.raises(TransientError, match="CERTIFICATE_VERIFY_FAILED"):
        await _broker(encrypted, mqtt_tls=True).open()
    trusted = {"mqtt_tls": True, "mqtt_ca_file": str(tmp_path / "camera.pem")}
    connection = await _broker(encrypted, **trusted).open()
    assert len(await _send(connection, _event("platestream/a"))) == 1
    await connection.leave()
    with pytest.raises(MisconfiguredError):
        _broker(encrypted, mqtt_tls=True, mqtt_ca_file=str(tmp_path / "none.pem"))


async def test_a_frozen_broker_is_left(
    mosquitto: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.mqtt.broker.TIMEOUT_SECONDS", 0.5)
    broker = _broker(mosquitto)
    connection = await broker.open()
    mosquitto.pause()
    with pytest.raises(TransientError, match="not acknowledging"):
        await _send(connection, _event("platestream/a"))
    await connection.wait_until_ended()
    with pytest.raises(TransientError, match="was lost"):
        await _send(connection, _event("platestream/a"))
    await connection.close()
    with pytest.raises(TransientError, match="did not acknowledge the connection"):
        await broker.open()
    mosquitto.resume()


async def test_an_absent_broker_is_reported(mosquitto: ServerProcess) -> None:
    mosquitto.kill()
    with pytest.raises(TransientError, match="is not responding"):
        await _broker(mosquitto).open()
