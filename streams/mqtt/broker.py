"""Connects to the MQTT broker. Only this module imports paho.

paho runs in a separate thread, but its callbacks are called on the event loop, in order. A closed
connection is not reused, so the caller must resend messages that were not acknowledged.
"""

import asyncio
import secrets
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

import paho.mqtt.client as paho
import structlog
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.reasoncodes import ReasonCode

from common.errors import MisconfiguredError, TransientError
from common.plaintext_warning import mqtt_server_in_clear
from streams.mqtt.messages import AVAILABLE, UNAVAILABLE, Message, retained
from streams.mqtt.settings import MqttBrokerSettings, MqttProtocol

log = structlog.get_logger()

Acknowledged = Callable[[Message], None]

_AT_LEAST_ONCE = 1
# Maximum size of a message's fixed header, length fields and packet identifier.
_PACKET_FRAME_BYTES = 16
_GOODBYE_SECONDS = 1.0
_KEEPALIVE_SECONDS = 30
IN_FLIGHT = 100
"""Maximum number of messages that await the broker's acknowledgement."""
TIMEOUT_SECONDS = 10.0
"""Time for the broker to acknowledge messages. After this time, the client reconnects."""
_PROTOCOLS = {MqttProtocol.V5: paho.MQTTv5, MqttProtocol.V311: paho.MQTTv311}


class RefusedMessageError(TransientError):
    """The broker rejected a message because of its access rules, a quota, or the message's size."""


@dataclass(frozen=True)
class Broker:
    """The broker's address, and the topic on which this process reports itself online."""

    settings: MqttBrokerSettings
    availability: str
    tls: ssl.SSLContext | None

    async def open(self) -> "Connection":
        """Return a connection on which the broker has accepted this client.

        Raises:
            TransientError: the broker is not responding, or rejected the connection.
        """
        connection = Connection(self)
        try:
            await connection.open()
        except BaseException:
            await connection.close()
            raise
        return connection


def warn_of_plaintext_login(settings: MqttBrokerSettings) -> None:
    """Log a warning if the password is sent over an unencrypted network connection."""
    if server := mqtt_server_in_clear(settings.mqtt_host, settings):
        log.warning(
            "mqtt_login_unencrypted",
            server=server,
            hint="the password can be read in transit; set PLATESTREAM_MQTT_TLS",
        )


def tls_context(settings: MqttBrokerSettings) -> ssl.SSLContext | None:
    """Return the TLS context for the broker, or None if TLS is disabled.

    Raises:
        MisconfiguredError: a configured file cannot be read.
    """
    if not settings.mqtt_tls:
        return None
    try:
        context = ssl.create_default_context(cafile=settings.mqtt_ca_file or None)
        context.sslsocket_class = _ClosedOnFailure
        if settings.mqtt_client_certificate_file:
            context.load_cert_chain(settings.mqtt_client_certificate_file)
    except OSError as error:
        raise MisconfiguredError(f"cannot load MQTT certificates: {error}") from error
    return context


class _ClosedOnFailure(ssl.SSLSocket):
    """Closes the socket if the handshake fails, because paho 2.2.0 leaves the socket open."""

    def do_handshake(self, block: bool = False) -> None:
        try:
            super().do_handshake(block)
        except OSError:
            self.close()
            raise


def max_in_flight(wanted: int, properties: object) -> int:
    """Return the maximum number of unacknowledged messages, given the CONNACK properties.

    **Source:** MQTT 5.0, section 3.2.2.3.3 (Receive Maximum); paho leaves this to the caller.
    """
    return min(wanted, getattr(properties, "ReceiveMaximum", wanted))


def max_packet_bytes(properties: object) -> int | None:
    """Return the size of the largest packet that the broker accepts, or None without a limit.

    **Source:** MQTT 5.0, section 3.2.2.3.6 (Maximum Packet Size); a larger packet is an error.
    """
    return getattr(properties, "MaximumPacketSize", None)


def _without_delay(_client: object, _data: object, opened: object) -> None:
    # With Nagle's algorithm, a small message would wait until the previous message has arrived.
    if isinstance(opened, socket.socket):
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


# Process ids are not unique: in each container, the first process has the id 1.
_OWN_NUMBER = secrets.token_hex(4)


def client_id() -> str:
    """Return the client id of this process, which is constant and unique.

    A new connection replaces a hanging connection of this process, but not of another worker.
    """
    return f"platestream-{socket.gethostname()}-{_OWN_NUMBER}"


class Connection:
    """A single connection to the broker, which is never reopened. Use it on one event loop."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._settings = broker.settings
        self._loop = asyncio.get_running_loop()
        self._accepted: asyncio.Future[None] = self._loop.create_future()
        self._ended = asyncio.Event()
        self._unacknowledged: dict[int, asyncio.Future[None]] = {}
        self._slots = asyncio.Semaphore(IN_FLIGHT)
        self._max_packet_bytes: int | None = None
        self._is_leaving = False
        self._client = self._new_client()

    async def open(self) -> None:
        """Connect; see :meth:`Broker.open`."""
        settings = self._settings
        try:
            # The thread finishes even if the task is cancelled, so no orphaned connection is left.
            await asyncio.to_thread(
                self._client.connect,
                settings.mqtt_host,
                settings.mqtt_port,
                _KEEPALIVE_SECONDS,
            )
        except (OSError, ValueError) as error:
            raise TransientError(f"the MQTT broker is not responding: {error}") from error
        self._client.loop_start()
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await self._accepted
        except TimeoutError as error:
            raise TransientError("the MQTT broker did not acknowledge the connection") from error

    async def report_online(self) -> None:
        """Report this process online, and correct later reports that the stage is offline.

        The broker publishes a lost worker's will late, when another worker may be online.

        Raises:
            TransientError: the connection was lost.
        """
        await self._publish_availability(AVAILABLE)
        self._client.subscribe(self._broker.availability, _AT_LEAST_ONCE)

    async def send(self, messages: Sequence[Message], acknowledged: Acknowledged) -> None:
        """Publish messages in order; return once the broker has acknowledged all of them.

        ``acknowledged`` is called for each acknowledged message.

        Raises:
            RefusedMessageError: the broker rejected one of the messages.
            TransientError: the connection was lost, or the broker did not respond in time.
        """
        waiting = iter(messages)
        while batch := list(islice(waiting, IN_FLIGHT)):
            await self._send_batch(batch, acknowledged)

    async def wait_until_ended(self) -> None:
        """Return once the connection has ended."""
        await self._ended.wait()

    async def leave(self) -> None:
        """Report this process offline, then close the connection."""
        self._is_leaving = True
        with suppress(TransientError):
            await self._publish_availability(UNAVAILABLE)
        self._client.disconnect()
        with suppress(TimeoutError):
            # If a connection ends without a DISCONNECT, the broker publishes the will.
            async with asyncio.timeout(_GOODBYE_SECONDS):
                await self._ended.wait()
        await self.close()

    async def close(self) -> None:
        """Close the connection in any state."""
        self._end()
        raw = self._client.socket()
        # paho's socket can also be None or a WebSocket.
        if isinstance(raw, socket.socket):
            # Shutting down the socket wakes paho's thread if it is waiting for a frozen broker.
            with suppress(OSError):
                raw.shutdown(socket.SHUT_RDWR)
        await asyncio.to_thread(self._client.loop_stop)

    async def _send_batch(self, messages: Sequence[Message], acknowledged: Acknowledged) -> None:
        sent: list[asyncio.Future[None]] = []
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                for message in messages:
                    await self._slots.acquire()
                    sent.append(self._publish(message, acknowledged))
                await asyncio.wait(sent)
        except TimeoutError as error:
            self._end()
            raise TransientError("the MQTT broker is not acknowledging messages") from error
        finally:
            for future in sent:
                future.cancel()
        for future in sent:
            future.result()

    async def _publish_availability(self, payload: bytes) -> None:
        await self.send([retained(self._broker.availability, payload)], lambda _: None)

    def _publish(self, message: Message, acknowledged: Acknowledged) -> asyncio.Future[None]:
        future: asyncio.Future[None] = self._loop.create_future()
        if self._is_too_large(message):
            sentence = f"message of {len(message.payload)} bytes exceeds the MQTT broker's limit"
            future.set_exception(RefusedMessageError(sentence))
            future.add_done_callback(lambda _: self._slots.release())
            return future
        info = self._client.publish(
            message.topic, message.payload, _AT_LEAST_ONCE, retain=message.retain
        )
        if self._ended.is_set() or info.rc != paho.MQTT_ERR_SUCCESS:
            future.set_exception(TransientError("the connection to the MQTT broker was lost"))
        else:
            self._unacknowledged[info.mid] = future
        future.add_done_callback(lambda done: self._finish(info.mid, message, done, acknowledged))
        return future

    def _is_too_large(self, message: Message) -> bool:
        size = len(message.payload) + len(message.topic.encode()) + _PACKET_FRAME_BYTES
        return self._max_packet_bytes is not None and size > self._max_packet_bytes

    def _finish(
        self, mid: int, message: Message, done: asyncio.Future[None], acknowledged: Acknowledged
    ) -> None:
        self._unacknowledged.pop(mid, None)
        self._slots.release()
        if not done.cancelled() and done.exception() is None:
            acknowledged(message)

    def _new_client(self) -> paho.Client:
        settings = self._settings
        is_v5 = settings.mqtt_protocol is MqttProtocol.V5
        client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=client_id(),
            # The broker need not store session state, because Kafka has the messages.
            clean_session=None if is_v5 else True,
            protocol=_PROTOCOLS[settings.mqtt_protocol],
            reconnect_on_failure=False,
        )
        client.max_inflight_messages_set(IN_FLIGHT)
        client.will_set(self._broker.availability, UNAVAILABLE, _AT_LEAST_ONCE, retain=True)
        if settings.mqtt_user:
            client.username_pw_set(settings.mqtt_user, settings.mqtt_password.get_secret_value())
        if self._broker.tls is not None:
            client.tls_set_context(self._broker.tls)
        client.on_socket_open = _without_delay
        client.on_connect = self._on_loop(self._on_connect)
        client.on_disconnect = self._on_loop(self._on_disconnect)
        client.on_publish = self._on_loop(self._on_publish)
        client.on_message = self._on_loop(self._on_message)
        return client

    def _on_loop(self, take: Callable[..., None]) -> Callable[..., None]:
        """Return a callback for paho's thread that calls ``take`` on the event loop."""

        def call(*arguments: Any) -> None:
            # The loop is already closed if the process is exiting.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(take, *arguments)

        return call

    def _on_connect(
        self, _client: Any, _data: Any, _flags: Any, reason: ReasonCode, properties: Any
    ) -> None:
        if self._accepted.done():
            return
        if reason.is_failure:
            fault = TransientError(f"the MQTT broker rejected the connection: {reason}")
            self._accepted.set_exception(fault)
        else:
            wanted = IN_FLIGHT
            self._slots = asyncio.Semaphore(max_in_flight(wanted, properties))
            self._max_packet_bytes = max_packet_bytes(properties)
            self._accepted.set_result(None)

    def _on_disconnect(self, *_: Any) -> None:
        self._end()

    def _on_publish(self, _client: Any, _data: Any, mid: int, reason: ReasonCode, *_: Any) -> None:
        future = self._unacknowledged.get(mid)
        if future is None or future.done():
            return
        if reason.is_failure:
            future.set_exception(RefusedMessageError(f"rejected by the MQTT broker: {reason}"))
        else:
            future.set_result(None)

    def _on_message(self, _client: Any, _data: Any, message: paho.MQTTMessage) -> None:
        is_mistaken = message.topic == self._broker.availability and message.payload != AVAILABLE
        if is_mistaken and not self._is_leaving and not self._ended.is_set():
            log.info("mqtt_availability_corrected")
            self._client.publish(message.topic, AVAILABLE, _AT_LEAST_ONCE, retain=True)

    def _end(self) -> None:
        self._ended.set()
        gone = TransientError("the connection to the MQTT broker was lost")
        if not self._accepted.done():
            self._accepted.set_exception(gone)
            # Mark the error as retrieved, because there may be no task waiting for the result.
            self._accepted.exception()
        for future in list(self._unacknowledged.values()):
            if not future.done():
                future.set_exception(gone)
