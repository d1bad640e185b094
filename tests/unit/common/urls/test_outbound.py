"""Allowed targets of the service, and attempts to make the service send elsewhere."""

from ipaddress import ip_address

import pytest

from common.errors import InvalidInputError
from common.networks import parse_networks
from common.settings import WebhookAddressSettings, load_settings
from common.urls.outbound import (
    MAX_OUTBOUND_URL_LENGTH,
    OutboundRules,
    OutboundScheme,
    check_outbound_address,
    parse_outbound_url,
    redirect_target,
)

NOTHING_ALLOWED = OutboundRules()
ADDRESS, MALFORMED, SCHEME = (f"outbound_url_{kind}" for kind in ("address", "malformed", "scheme"))

REFUSED = {
    # Addresses of the machine itself.
    "http://127.0.0.1/": ADDRESS,
    "http://127.0.0.1:8000/": ADDRESS,
    "http://127.255.255.254/": ADDRESS,
    "http://0.0.0.0/": ADDRESS,
    "http://0.1.2.3/": ADDRESS,
    "http://[::1]/": ADDRESS,
    "http://[::]/": ADDRESS,
    "http://[0:0:0:0:0:0:0:1]:80/": ADDRESS,
    # Old spellings of IPv4 addresses: decimal, octal, hexadecimal, short and mixed.
    "http://2130706433/": MALFORMED,
    "http://017700000001/": MALFORMED,
    "http://0x7f000001/": MALFORMED,
    "http://0x7F.0.0.1/": MALFORMED,
    "http://0177.0.0.1/": MALFORMED,
    "http://127.1/": MALFORMED,
    "http://127.0.1/": MALFORMED,
    "http://0/": MALFORMED,
    "http://0x/": MALFORMED,
    "http://127.0.0.01/": MALFORMED,
    "http://127.0.0.0x1/": MALFORMED,
    "http://2852039166/": MALFORMED,
    "http://169.254.43518/": MALFORMED,
    "http://256.256.256.256/": MALFORMED,
    "http://4294967296/": MALFORMED,
    "http://a.127/": MALFORMED,
    # Host names with dots at the end.
    "http://127.0.0.1./": ADDRESS,
    "http://localhost./": ADDRESS,
    "http://127.0.0.1../": MALFORMED,
    "http://./": MALFORMED,
    # IPv4 addresses in IPv6 addresses: mapped, compatible, 6to4, NAT64, Teredo, ISATAP's prefix.
    "http://[::ffff:127.0.0.1]/": ADDRESS,
    "http://[::ffff:7f00:1]/": ADDRESS,
    "http://[0:0:0:0:0:ffff:10.0.0.1]/": ADDRESS,
    "http://[::ffff:a9fe:a9fe]/": ADDRESS,
    "http://[::127.0.0.1]/": ADDRESS,
    "http://[2002:7f00:1::]/": ADDRESS,
    "http://[2002:a9fe:a9fe::1]/": ADDRESS,
    "http://[64:ff9b::7f00:1]/": ADDRESS,
    "http://[64:ff9b::169.254.169.254]/": ADDRESS,
    "http://[64:ff9b:1::a00:1]/": ADDRESS,
    "http://[2001:0:7f00:1::1]/": ADDRESS,
    "http://[fe80::5efe:127.0.0.1]/": ADDRESS,
    # Private, link-local, carrier, unique local, multicast and reserved addresses.
    "http://10.0.0.1/": ADDRESS,
    "http://172.16.0.1/": ADDRESS,
    "http://172.31.255.255/": ADDRESS,
    "http://192.168.1.1/": ADDRESS,
    "http://100.64.0.1/": ADDRESS,
    "http://169.254.1.1/": ADDRESS,
    "http://192.0.0.8/": ADDRESS,
    "http://192.0.2.1/": ADDRESS,
    "http://198.18.0.1/": ADDRESS,
    "http://224.0.0.1/": ADDRESS,
    "http://239.255.255.250/": ADDRESS,
    "http://240.0.0.1/": ADDRESS,
    "http://255.255.255.255/": ADDRESS,
    "http://[fe80::1]/": ADDRESS,
    "http://[fe80::1%25eth0]/": ADDRESS,
    "http://[fe80::1%eth0]/": ADDRESS,
    "http://[fc00::1]/": ADDRESS,
    "http://[fd12:3456:789a::1]/": ADDRESS,
    "http://[fec0::1]/": ADDRESS,
    "http://[ff02::1]/": ADDRESS,
    "http://[100::1]/": ADDRESS,
    "http://[2001:db8::1]/": ADDRESS,
    "http://[3fff::1]/": ADDRESS,
    "http://[5f00::1]/": ADDRESS,
    # Addresses of metadata services.
    "http://169.254.169.254/latest/meta-data/": ADDRESS,
    "http://169.254.170.2/": ADDRESS,
    "http://100.100.100.200/": ADDRESS,
    "http://192.0.0.192/": ADDRESS,
    "http://168.63.129.16/": ADDRESS,
    "http://[fd00:ec2::254]/": ADDRESS,
    "http://metadata.google.internal/computeMetadata/v1/": ADDRESS,
    "http://metadata.goog/": ADDRESS,
    "http://metadata/": ADDRESS,
    "http://METADATA.google.INTERNAL./": ADDRESS,
    # Names of the machine itself and of its networks.
    "http://localhost/": ADDRESS,
    "http://LOCALHOST:80/": ADDRESS,
    "http://anything.localhost/": ADDRESS,
    "http://localhost.localdomain/": ADDRESS,
    "http://ip6-localhost/": ADDRESS,
    "http://intranet/": ADDRESS,
    "http://printer.local/": ADDRESS,
    "http://vault.internal/": ADDRESS,
    "http://router.lan/": ADDRESS,
    "http://nas.home.arpa/": ADDRESS,
    # URLs with a user, and URLs that programs parse in different ways.
    "http://user:password@receiver.example.com/": MALFORMED,
    "http://receiver.example.com@127.0.0.1/": MALFORMED,
    "http://receiver.example.com:80@127.0.0.1/": MALFORMED,
    "http://127.0.0.1@receiver.example.com/": MALFORMED,
    "http://@127.0.0.1/": MALFORMED,
    "http://receiver.example.com#@127.0.0.1/": MALFORMED,
    "http://receiver.example.com\\@127.0.0.1/": MALFORMED,
    "http://127.0.0.1\\.receiver.example.com/": MALFORMED,
    "http://127.0.0.1 .receiver.example.com/": MALFORMED,
    "http://receiver.example.com\r\nHost: 127.0.0.1/": MALFORMED,
    "http://receiver.example.com\t/": MALFORMED,
    " http://receiver.example.com/": MALFORMED,
    "http://receiver.example.com/\x00": MALFORMED,
    "http://127%2e0%2e0%2e1/": MALFORMED,
    "http://127。0。0。1/": MALFORMED,
    "http://①②⑦.⓪.⓪.①/": MALFORMED,
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/": MALFORMED,
    "http://[::1/": MALFORMED,
    "http://[localhost]/": MALFORMED,
    "http://[127.0.0.1]/": MALFORMED,
    "http://receiver..example.com/": MALFORMED,
    "http://-a.example.com/": MALFORMED,
    "http://receiver.example.com:0/": MALFORMED,
    "http://receiver.example.com:65536/": MALFORMED,
    "http://receiver.example.com:port/": MALFORMED,
    "http:///x": MALFORMED,
    "http:127.0.0.1": MALFORMED,
    "http://": MALFORMED,
    "": MALFORMED,
    "http://" + "a" * 64 + ".example.com/": MALFORMED,
    "http://" + "a." * 130 + "example.com/": MALFORMED,
    "https://example.com/" + "x" * MAX_OUTBOUND_URL_LENGTH: MALFORMED,
    # URLs with other protocols.
    "ftp://receiver.example.com/": SCHEME,
    "file:///etc/passwd": SCHEME,
    "gopher://127.0.0.1:6379/_FLUSHALL": SCHEME,
    "dict://127.0.0.1:11211/": SCHEME,
    "javascript:alert(1)": SCHEME,
    "data:text/plain,x": SCHEME,
    "//receiver.example.com/": SCHEME,
    "receiver.example.com": SCHEME,
    "ws://receiver.example.com/": SCHEME,
    "jar:http://127.0.0.1!/": SCHEME,
}


def test_there_are_enough_tricks() -> None:
    assert len(REFUSED) >= 60


@pytest.mark.parametrize(("text", "code"), REFUSED.items(), ids=lambda value: repr(value)[:60])
def test_a_trick_is_refused_without_being_repeated(text: str, code: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        parse_outbound_url(text, NOTHING_ALLOWED)

    assert refused.value.code == code
    assert not text or text not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("https://receiver.example.com/plates", "receiver.example.com", 443),
        ("http://receiver.example.com", "receiver.example.com", 80),
        ("HTTPS://Receiver.Example.COM.:8443/a?b=c&d=%20", "receiver.example.com", 8443),
        ("https://hooks_1.xn--bcher-kva.example/x", "hooks_1.xn--bcher-kva.example", 443),
        ("http://8.8.8.8:80/x", "8.8.8.8", 80),
        ("http://[2606:4700:4700::1111]/x", "2606:4700:4700::1111", 80),
        ("http://[::ffff:8.8.8.8]/x", "::ffff:8.8.8.8", 80),
        ("https://9to5.example.com/", "9to5.example.com", 443),
        ("https://172.32.0.1/", "172.32.0.1", 443),
        ("https://deadbeef.example/", "deadbeef.example", 443),
        ("https://example.com/a/%2e%2e/b;c=d", "example.com", 443),
        ("https://localhost.example.com/", "localhost.example.com", 443),
    ],
)
def test_the_public_internet_is_allowed(text: str, host: str, port: int) -> None:
    url = parse_outbound_url(text, NOTHING_ALLOWED)

    assert (url.text, url.host, url.port) == (text, host, port)
    assert url.scheme is OutboundScheme(text.partition(":")[0].lower())
    assert (url.address is None) == host.endswith((".com", ".example"))


@pytest.mark.parametrize(
    ("networks", "allowed", "refused"),
    [
        ("127.0.0.0/8", "http://127.0.0.1:9/", "http://[::1]/"),
        ("127.0.0.1", "http://localhost:9/", "http://127.0.0.2/"),
        ("127.0.0.0/8", "http://[::ffff:127.0.0.1]/", "http://10.0.0.1/"),
        ("::1/128", "http://[::1]/", "http://127.0.0.1/"),
        ("10.0.0.0/8, fd00::/8", "http://[fd00::8]/", "http://192.168.0.1/"),
        ("10.0.0.0/8", "http://receiver/", "http://localhost/"),
        ("10.0.0.0/8", "http://receiver.internal/", "http://metadata.google.internal/"),
        ("10.0.0.0/8", "http://10.1.2.3/", "http://0xa000001/"),
        ("10.0.0.0/8", "http://8.8.8.8/", "http://u@10.0.0.1/"),
    ],
)
def test_what_the_operator_allows(networks: str, allowed: str, refused: str) -> None:
    rules = OutboundRules(parse_networks(networks))

    parse_outbound_url(allowed, rules)
    with pytest.raises(InvalidInputError):
        parse_outbound_url(refused, rules)


@pytest.mark.parametrize("text", ["127.0.0.1", "::ffff:10.0.0.1", "fe80::1", "2002:a00:1::"])
def test_an_address_found_at_connect_is_judged_alike(text: str) -> None:
    with pytest.raises(InvalidInputError):
        check_outbound_address(ip_address(text), NOTHING_ALLOWED)
    check_outbound_address(ip_address("8.8.8.8"), NOTHING_ALLOWED)


def test_an_address_shows_no_path() -> None:
    url = parse_outbound_url("https://receiver.example.com/s3cret", NOTHING_ALLOWED)

    assert "s3cret" not in repr(url)


def test_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "PLATESTREAM_WEBHOOK_ALLOWED_NETWORKS"
    assert load_settings(WebhookAddressSettings).webhook_allowed_networks == ()
    monkeypatch.setenv(name, "10.0.0.0/8, ::1,192.168.1.7/24")
    assert [
        str(network) for network in load_settings(WebhookAddressSettings).webhook_allowed_networks
    ] == [
        "10.0.0.0/8",
        "::1/128",
        "192.168.1.0/24",
    ]
    monkeypatch.setenv(name, "ten")
    with pytest.raises(SystemExit):
        load_settings(WebhookAddressSettings)


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://new.example.com/events", "https://new.example.com"),
        ("https://new.example.com:8443/events/", "https://new.example.com:8443"),
        ("/other?a=1#b", "https://receiver.example.com"),
        ("https://user:pass@new.example.com/", "https://new.example.com"),
        ("http://[2606:4700::1]:81/", "http://[2606:4700::1]:81"),
        ("https://receiver.example.com/hook/mysecret/", "https://receiver.example.com"),
        ("https://receiver.example.com/HOOK/MYSECRET", "https://receiver.example.com"),
        ("https://receiver.example.com/hook%2Fmysecret%2F", "https://receiver.example.com"),
        ("https://new.example.com/a9/k?mysecret#q-7", "https://new.example.com"),
        ("https://mysecret.example.com/", None),
        ("https://MySecret.example.com/", None),
        ("https://xmysecretx.example.com/", None),
        ("https://my.secret.example.com/", None),
        ("https://t0k-3n.example.com/", None),
        ("https://q7.example.com/", None),
        ("https://new.example.com:4711/", None),
        ("https://receiver.example.com:4711/", None),
        ("javascript:alert(1)", None),
        ("file:///etc/passwd", None),
        ("https://b\u00e9.example/", None),
        ('https://a"b/', None),
        ("https://[::1", None),
        ("https://new.example.com:99999/", None),
    ],
)
def test_the_target_of_a_redirect_is_its_host_and_repeats_no_part_of_the_url(
    location: str, shown: str | None
) -> None:
    url = "https://receiver.example.com/receiver/mysecret/T0K%2D3n/4711?key=q-7"

    assert redirect_target(url, location) == shown
