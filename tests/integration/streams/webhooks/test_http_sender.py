"""The sender with faulty receivers, and with denied addresses."""

import asyncio
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest
import uvloop
from aiohttp.abc import AbstractResolver, ResolveResult
from opentelemetry.trace import SpanKind

from common.networks import parse_networks
from common.telemetry.tracing import traced
from common.urls.outbound import OutboundRules
from streams.webhooks.delivery.http_sender import HttpSender, SignedRequest
from streams.webhooks.delivery.schedule import SendKind, SendResult
from tests.recorded_spans import SOME_TRACE, recorded_spans
from tests.services.authority import self_signed
from tests.services.receiver import Receiver
from tests.unit.common.urls.test_outbound import REFUSED

pytestmark = pytest.mark.integration

HERE = OutboundRules(parse_networks("127.0.0.0/8"))
NOWHERE = OutboundRules()


class ScriptedResolver(AbstractResolver):
    """Returns the next response at each look-up, like a rebound DNS name."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked += 1
        found = (self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]).split()
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=0,
            )
            for address in found
        ]

    async def close(self) -> None:
        """Do nothing, because there is nothing to close."""


async def _send(
    url: str,
    rules: OutboundRules = HERE,
    *,
    timeout_seconds: float = 10,
    resolver: AbstractResolver | None = None,
) -> SendResult:
    sender = HttpSender(rules, timeout_seconds=timeout_seconds, resolver=resolver)
    try:
        return await sender.post(SignedRequest(url, {"X-A": "1"}, b"{}"))
    finally:
        await sender.close()


async def test_a_success_keeps_the_connection_for_the_next(receiver: Receiver) -> None:
    sender = HttpSender(HERE, timeout_seconds=10)
    request = SignedRequest(receiver.url("/ok?a=%2Fb"), {"X-A": "1"}, b'{"a":1}')
    results = [await sender.post(request) for _ in range(20)]
    await sender.close()

    assert {(result.kind, result.status) for result in results} == {(SendKind.ACCEPTED, 200)}
    assert receiver.connections == 1
    assert {(one.path, one.body) for one in receiver.received} == {("/ok?a=%2Fb", b'{"a":1}')}


@pytest.mark.parametrize(
    ("path", "kind", "status"),
    [
        ("/status/204", SendKind.ACCEPTED, 204),
        *(
            (f"/status/{status}", SendKind.FAILED, status)
            for status in (400, 401, 403, 404, 405, 408, 413, 422, 425, 429, 500, 503)
        ),
        ("/status/410", SendKind.REFUSED, 410),
        ("/status/304", SendKind.REFUSED, 304),
        ("/redirect", SendKind.REFUSED, 302),
        ("/garbage", SendKind.FAILED, None),
        ("/hang-up", SendKind.FAILED, None),
    ],
)
async def test_each_answer_has_its_outcome(
    receiver: Receiver, path: str, kind: SendKind, status: int | None
) -> None:
    result = await _send(receiver.url(path))

    assert (result.kind, result.status) == (kind, status)
    assert (result.error is None) == (kind is SendKind.ACCEPTED)
    # A redirect is not followed, so there is one request, whatever the target of the redirect.
    assert len(receiver.received) == 1


async def test_retry_after_is_heard(receiver: Receiver) -> None:
    result = await _send(receiver.url("/status/429?retry-after=7"))

    assert result.retry_after_seconds == 7


@pytest.mark.parametrize("asked", ["7", "Wed,+21+Oct+99999999999+07:28:00+GMT"])
async def test_success_is_success_whatever_is_asked(receiver: Receiver, asked: str) -> None:
    result = await _send(receiver.url(f"/status/200?retry-after={asked}"))

    assert result == SendResult(kind=SendKind.ACCEPTED, status=200)


@pytest.mark.parametrize("path", ["/never", "/drip"])
async def test_no_answer_in_time_is_a_failure(receiver: Receiver, path: str) -> None:
    started = time.monotonic()
    result = await _send(receiver.url(path), timeout_seconds=1.5)

    assert result.kind is SendKind.FAILED
    assert result.error == "No response within 1.5 s."
    assert time.monotonic() - started < 3


@pytest.mark.parametrize("path", ["/huge", "/drip-body"])
async def test_a_body_without_end_is_not_read(receiver: Receiver, path: str) -> None:
    started = time.monotonic()
    result = await _send(receiver.url(path))

    assert (result.kind, result.status) == (SendKind.ACCEPTED, 200)
    assert time.monotonic() - started < 4
    assert receiver.written_bytes < 32 * 1024**2


async def test_an_absent_receiver_is_a_failure() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        result = await _send(f"http://127.0.0.1:{unused.getsockname()[1]}/")

    assert result == SendResult(kind=SendKind.FAILED, error="The connection failed.")


@pytest.fixture
def untrusted(tmp_path: Path) -> Iterator[Receiver]:
    """A receiver with a self-signed certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed(tmp_path))
    with Receiver(context) as server:
        yield server


async def test_a_certificate_that_is_not_trusted_is_a_failure(untrusted: Receiver) -> None:
    result = await _send(untrusted.url())

    assert result == SendResult(
        kind=SendKind.FAILED, error="The receiver's certificate is not trusted."
    )
    assert untrusted.received == []


async def test_a_proxy_of_the_environment_is_not_used(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    result = await _send(receiver.url())

    assert result.kind is SendKind.ACCEPTED


async def test_every_trick_is_refused_when_sending() -> None:
    assert len(REFUSED) >= 60
    sender = HttpSender(NOWHERE, timeout_seconds=5)
    taken = [
        url
        for url in REFUSED
        if (await sender.post(SignedRequest(url, {}, b"{}"))).kind is not SendKind.REFUSED
    ]
    await sender.close()

    assert taken == []


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.8",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "0.0.0.0",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:a9fe:a9fe",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "fd00:ec2::254",
        "fe80::1",
        "127.0.0.1 10.0.0.8 ::1",
    ],
)
async def test_a_name_that_resolves_inside_is_refused_at_dialling(
    receiver: Receiver, address: str
) -> None:
    url = receiver.url(host="receiver.example.com")
    result = await _send(url, NOWHERE, resolver=ScriptedResolver(address))

    assert result.kind is SendKind.REFUSED
    assert receiver.connections == 0


@pytest.mark.parametrize(
    ("addresses", "kind"),
    [
        ("127.0.0.1 fd00::1", SendKind.FAILED),
        ("fd00::1 127.0.0.1", SendKind.FAILED),
        ("127.0.0.1 10.0.0.8", SendKind.FAILED),
        ("10.0.0.8 fd00::1 10.0.0.9", SendKind.REFUSED),
    ],
)
async def test_one_bad_address_of_several_is_not_the_end(addresses: str, kind: SendKind) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://receiver.example.com:{unused.getsockname()[1]}/"
        result = await _send(url, resolver=ScriptedResolver(addresses))

    assert result.kind is kind


async def test_a_name_that_is_rebound_gains_nothing(receiver: Receiver) -> None:
    """The first address is public and has no listener. All later ones belong to this machine."""
    resolver = ScriptedResolver("192.0.2.1", "127.0.0.1")
    rules = OutboundRules(parse_networks("192.0.2.0/24"))
    sender = HttpSender(rules, timeout_seconds=0.5, resolver=resolver)
    request = SignedRequest(receiver.url(host="receiver.example.com"), {}, b"{}")
    kinds = []
    for _ in range(2):
        kinds.append((await sender.post(request)).kind)
        # Otherwise, the first address would be cached for ten seconds.
        connector = sender._opened().connector
        assert isinstance(connector, aiohttp.TCPConnector)
        connector.clear_dns_cache()
    await sender.close()

    assert resolver.asked == 2
    assert kinds == [SendKind.FAILED, SendKind.REFUSED]
    assert receiver.connections == 0


def test_it_works_the_same_on_the_loop_that_the_stage_runs_on(
    receiver: Receiver, untrusted: Receiver
) -> None:
    elsewhere = receiver.url(host="receiver.example.com")
    with socket.socket() as unused, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        unused.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        found = {
            name: runner.run(sending)
            for name, sending in {
                "ok": _send(receiver.url("/ok")),
                "unavailable": _send(receiver.url("/status/503")),
                "garbage": _send(receiver.url("/garbage")),
                "hang-up": _send(receiver.url("/hang-up")),
                "huge": _send(receiver.url("/huge")),
                "never": _send(receiver.url("/never"), timeout_seconds=0.5),
                "untrusted": _send(untrusted.url()),
                "nobody": _send(nobody),
                "inside": _send(elsewhere, NOWHERE, resolver=ScriptedResolver("127.0.0.1")),
                "allowed": _send(elsewhere, resolver=ScriptedResolver("127.0.0.1")),
            }.items()
        }

    assert {name: (one.kind, one.status) for name, one in found.items()} == {
        "ok": (SendKind.ACCEPTED, 200),
        "unavailable": (SendKind.FAILED, 503),
        "garbage": (SendKind.FAILED, None),
        "hang-up": (SendKind.FAILED, None),
        "huge": (SendKind.ACCEPTED, 200),
        "never": (SendKind.FAILED, None),
        "untrusted": (SendKind.FAILED, None),
        "nobody": (SendKind.FAILED, None),
        "inside": (SendKind.REFUSED, None),
        "allowed": (SendKind.ACCEPTED, 200),
    }
    assert found["untrusted"].error == "The receiver's certificate is not trusted."
    assert found["nobody"].error == "The connection failed."


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}/", "http://localhost:{port}/"])
async def test_this_machine_is_reached_only_where_the_operator_allows_it(
    receiver: Receiver, url: str
) -> None:
    url = url.format(port=receiver.port)

    assert (await _send(url, NOWHERE)).kind is SendKind.REFUSED
    assert (await _send(url, HERE)).kind is SendKind.ACCEPTED


async def test_in_a_trace_the_receiver_gets_it() -> None:
    with Receiver() as receiver, recorded_spans() as tracer:
        with traced("process deliveries", parent=SOME_TRACE):
            await _send(receiver.url("/status/503"))
        await _send(receiver.url())
    traced_request, other = receiver.received
    outer, post = tracer.spans

    assert (post.name, post.kind, post.parent) == ("POST", SpanKind.CLIENT, outer.context)
    assert traced_request.headers["traceparent"] == post.context.traceparent
    assert post.attributes == {
        "http.request.method": "POST",
        "http.response.status_code": 503,
    }
    assert post.error == "503"
    assert "traceparent" not in other.headers


async def test_a_webhooks_own_header_of_that_name_stays() -> None:
    sender = HttpSender(HERE, timeout_seconds=10)
    with Receiver() as receiver, recorded_spans(), traced("process", parent=SOME_TRACE):
        await sender.post(SignedRequest(receiver.url(), {"Traceparent": "my own"}, b"{}"))
        await sender.close()

    assert receiver.received[0].headers["traceparent"] == "my own"
