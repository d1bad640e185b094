"""Host names of receivers, by the addresses that they resolve to."""

import threading
from collections.abc import Sequence
from ipaddress import ip_address

import pytest

from api.adapters import outbound
from api.adapters.outbound import HostResolver, OutboundUrlChecker
from api.errors import ApiError
from common.networks import IpAddress, parse_networks
from common.urls.outbound import OutboundRules
from common.urls.resolver import ResolvedHost


class _Table(HostResolver):
    """A resolver with the same response for all names."""

    def __init__(self, *addresses: str) -> None:
        self._addresses = tuple(map(ip_address, addresses))
        self.asked: list[str] = []

    async def addresses(self, host: str, port: int) -> Sequence[IpAddress]:
        self.asked.append(host)
        return self._addresses


async def _faults(gate: OutboundUrlChecker, *urls: str) -> list[str]:
    try:
        await gate.check([(f"urls.{number}", url) for number, url in enumerate(urls)])
    except ApiError as error:
        return [fault.path for fault in error.fields]
    return []


@pytest.mark.parametrize(
    ("addresses", "networks", "refused"),
    [
        ((), "", False),
        (("8.8.8.8", "2606:4700::1"), "", False),
        (("8.8.8.8", "10.0.0.1"), "", True),
        (("::ffff:127.0.0.1",), "", True),
        (("10.0.0.1",), "10.0.0.0/8", False),
        (("10.0.0.1", "192.168.0.1"), "10.0.0.0/8", True),
    ],
)
async def test_every_address_of_a_name_counts(
    addresses: tuple[str, ...], networks: str, refused: bool
) -> None:
    gate = OutboundUrlChecker(_Table(*addresses), OutboundRules(parse_networks(networks)))

    assert await _faults(gate, "https://receiver.example.com/") == ["urls.0"] * refused


async def test_all_faults_are_reported_and_literal_addresses_are_not_resolved() -> None:
    table = _Table("127.0.0.1")
    gate = OutboundUrlChecker(table, OutboundRules())
    urls = ("https://8.8.8.8/", "https://a.example/", "http://10.0.0.1/", "https://b.example/")

    assert await _faults(gate, *urls) == ["urls.1", "urls.2", "urls.3"]
    assert table.asked == ["a.example", "b.example"]


async def test_a_slow_resolver_delays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    said = threading.Event()

    def slow(*_: object) -> list[ResolvedHost]:
        said.wait(30)
        return []

    monkeypatch.setattr(outbound, "look_up", slow)
    monkeypatch.setattr(outbound, "_LOOK_UP_SECONDS", 0.05)
    resolver = HostResolver()
    found = await resolver.addresses("receiver.example.com", 443)
    still_asked = not said.is_set()
    said.set()
    resolver.close()

    assert found == ()
    assert still_asked
