"""Same-origin requests, loopback hosts, and clients' addresses with trusted proxies."""

import pytest

from api.security.client_address import client_address, counted_by
from api.security.csrf import is_loopback_host, is_same_origin
from common.networks import parse_networks


@pytest.mark.parametrize(
    ("origin", "host", "same"),
    [
        ("https://api.example.com", "api.example.com", True),
        ("https://API.example.com", "api.EXAMPLE.com", True),
        ("https://api.example.com", "api.example.com:443", True),
        ("https://api.example.com:443", "api.example.com", True),
        ("http://127.0.0.1:8000", "127.0.0.1:8000", True),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("http://api.example.com", "api.example.com", True),
        ("https://evil.example", "api.example.com", False),
        ("https://api.example.com.evil.example", "api.example.com", False),
        ("https://evil.example/api.example.com", "api.example.com", False),
        ("https://api.example.com@evil.example", "api.example.com", False),
        ("https://api.example.com:8443", "api.example.com", False),
        ("http://127.0.0.1:8001", "127.0.0.1:8000", False),
        ("http://localhost:8000", "127.0.0.1:8000", False),
        ("null", "api.example.com", False),
        ("", "api.example.com", False),
        ("https://", "", False),
        ("https://[::1", "[::1", False),
        ("file://api.example.com", "api.example.com", False),
        ("https://api.example.com/", "api.example.com", False),
    ],
)
def test_only_the_own_origin_is_the_same(origin: str, host: str, same: bool) -> None:
    assert is_same_origin(origin, host) is same


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.0.0.1:8000", True),
        ("[::1]:8000", True),
        ("localhost:8000", True),
        ("app.localhost", True),
        ("api.example.com", False),
        ("127.0.0.1.example.com", False),
        ("10.0.0.1", False),
        ("", False),
        ("[::1", False),
    ],
)
def test_loopback_hosts_are_recognised(host: str, loopback: bool) -> None:
    assert is_loopback_host(host) is loopback


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "trusted", "address"),
    [
        ("203.0.113.9", [], "", "203.0.113.9"),
        ("203.0.113.9", ["198.51.100.1"], "", "203.0.113.9"),
        ("10.0.0.1", ["198.51.100.1"], "10.0.0.0/8", "198.51.100.1"),
        ("10.0.0.1", ["1.1.1.1, 198.51.100.1"], "10.0.0.0/8", "198.51.100.1"),
        ("10.0.0.1", ["1.1.1.1", "198.51.100.1, 10.0.0.2"], "10.0.0.0/8", "198.51.100.1"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.0/8", "10.0.0.3"),
        ("10.0.0.1", ["1.1.1.1, nonsense"], "10.0.0.0/8", "10.0.0.1"),
        ("10.0.0.1", [""], "10.0.0.0/8", "10.0.0.1"),
        ("10.0.0.1", [], "10.0.0.0/8", "10.0.0.1"),
        ("::ffff:10.0.0.1", ["2001:db8::1"], "10.0.0.0/8", "2001:db8::1"),
        ("::1", ["198.51.100.1"], "::1", "198.51.100.1"),
        ("10.0.0.1", ["198.51.100.1:4711"], "10.0.0.0/8", "198.51.100.1"),
        ("10.0.0.1", ["[2001:db8::1]:443"], "10.0.0.0/8", "2001:db8::1"),
        ("10.0.0.1", ["[2001:db8::1]"], "10.0.0.0/8", "2001:db8::1"),
        ("10.0.0.1", ["198.51.100.1:x"], "10.0.0.0/8", "10.0.0.1"),
        (None, ["198.51.100.1"], "", "unknown"),
        ("socket", ["198.51.100.1"], "", "socket"),
    ],
)
def test_the_callers_address_is_taken_from_trusted_proxies_only(
    peer: str | None, forwarded_for: list[str], trusted: str, address: str
) -> None:
    assert client_address(peer, forwarded_for, parse_networks(trusted)) == address


def test_addresses_of_one_household_are_counted_together() -> None:
    assert counted_by("2001:db8:1:2::1") == counted_by("2001:db8:1:2:ffff::9")
    assert counted_by("2001:db8:1:2::1") != counted_by("2001:db8:1:3::1")
    assert counted_by("198.51.100.1") == "198.51.100.1"


def test_an_ipv4_address_is_counted_once_however_it_is_written() -> None:
    written = ("198.51.100.1", "::ffff:198.51.100.1", "::ffff:c633:6401", "::FFFF:198.51.100.1")
    assert {counted_by(one) for one in written} == {"198.51.100.1"}
    assert {client_address(one, (), ()) for one in written} == {"198.51.100.1"}
