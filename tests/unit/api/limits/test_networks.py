"""The networks by which addresses are counted and take turns."""

import pytest

from api.limits.networks import counted_networks, queue_network
from api.security.client_address import counted_by


def _counted(address: str) -> dict[str, int]:
    return {each.name: each.factor for each in counted_networks(counted_by(address))}


def test_an_ipv6_address_is_counted_by_three_networks_with_growing_allowances() -> None:
    assert _counted("2001:db8:1:203::7") == {
        "2001:db8:1:203::/64": 1,
        "2001:db8:1:200::/56": 4,
        "2001:db8:1::/48": 16,
    }


@pytest.mark.parametrize("address", ["192.0.2.7", "::ffff:192.0.2.7", "unknown"])
def test_other_addresses_are_counted_alone(address: str) -> None:
    assert _counted(address) == {counted_by(address): 1}


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("2001:db8:1:203::7", "2001:db8:1::/48"),
        ("192.0.2.7", "192.0.2.0/24"),
        ("::ffff:192.0.2.7", "192.0.2.0/24"),
        ("unknown", "unknown"),
    ],
)
def test_neighbours_take_turns_as_one(address: str, network: str) -> None:
    assert queue_network(counted_by(address)) == network
