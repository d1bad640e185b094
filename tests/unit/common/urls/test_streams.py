"""Stream URLs that are allowed for cameras, and how their passwords are hidden."""

from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import InvalidInputError
from common.urls.camera_settings import CameraAddressSettings, stream_url_rules
from common.urls.streams import (
    StreamScheme,
    StreamUrlRules,
    check_address,
    mask_password,
    parse_stream_url,
    restore_password,
    stream_identifier,
)

STRICT = StreamUrlRules()
LOCAL = StreamUrlRules(allow_loopback=True, files_folder=Path("/clips"))


@pytest.mark.parametrize(
    ("text", "scheme", "host", "port"),
    [
        ("rtsp://10.0.0.5/live", StreamScheme.RTSP, "10.0.0.5", 554),
        ("RTSP://Cam.Example.org:8554/live", StreamScheme.RTSP, "cam.example.org", 8554),
        ("rtsps://user:p%40ss@cam.lan/1", StreamScheme.RTSPS, "cam.lan", 322),
        ("http://[2001:db8::7]/mjpg?cam=1", StreamScheme.HTTP, "2001:db8::7", 80),
        ("https://192.168.1.9/a.m3u8", StreamScheme.HTTPS, "192.168.1.9", 443),
        ("rtsp://u:p@ss@cam_1.lan/", StreamScheme.RTSP, "cam_1.lan", 554),
    ],
)
def test_addresses_of_cameras_are_taken(
    text: str, scheme: StreamScheme, host: str, port: int
) -> None:
    url = parse_stream_url(text, STRICT)

    assert (url.scheme, url.host, url.port, url.text) == (scheme, host, port, text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "stream_url_malformed"),
        ("rtsp://" + "a" * 2100, "stream_url_malformed"),
        ("rtsp://cam/\nX", "stream_url_malformed"),
        ("rtsp://cam/\x00", "stream_url_malformed"),
        ("rtsp://cam/a b", "stream_url_malformed"),
        ("rtsp://cam\\@evil/", "stream_url_malformed"),
        ("rtsp:///path", "stream_url_malformed"),
        ("rtsp://cam:99999/", "stream_url_malformed"),
        ("rtsp://cam:0/", "stream_url_malformed"),
        ("rtsp://u:pa/ss@cam/", "stream_url_malformed"),
        ("rtsp://%31%32%37.0.0.1/", "stream_url_malformed"),
        ("rtsp://[::1/", "stream_url_malformed"),
        ("rtsp://cam/#x", "stream_url_malformed"),
        ("rtsp://admin:12#ss@10.0.0.8/x", "stream_url_malformed"),
        ("cam.lan/live", "stream_url_scheme"),
        ("file:///etc/passwd", "stream_url_scheme"),
        ("concat:/a|/b", "stream_url_scheme"),
        ("pipe:0", "stream_url_scheme"),
        ("ftp://cam/x", "stream_url_scheme"),
        ("javascript:alert(1)", "stream_url_scheme"),
        ("rtsp://127.0.0.1/", "stream_url_address"),
        ("rtsp://127.1/", "stream_url_address"),
        ("rtsp://127.0.0.1./", "stream_url_address"),
        ("http://169.254.169.254./", "stream_url_address"),
        ("rtsp://2130706433/", "stream_url_address"),
        ("rtsp://0x7f.0.0.1/", "stream_url_address"),
        ("rtsp://0/", "stream_url_address"),
        ("rtsp://[::1]/", "stream_url_address"),
        ("rtsp://[::]/", "stream_url_address"),
        ("rtsp://[::ffff:127.0.0.1]/", "stream_url_address"),
        ("rtsp://localhost/", "stream_url_address"),
        ("rtsp://LOCALHOST./", "stream_url_address"),
        ("rtsp://a.localhost/", "stream_url_address"),
    ],
)
def test_what_is_no_camera_is_refused(text: str, code: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_stream_url(text, STRICT)

    assert caught.value.code == code


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "[fe80::1%25eth0]",
        "[fd00:ec2::254]",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::1]",
        "100.100.100.200",
        "168.63.129.16",
        "224.0.0.1",
        "255.255.255.255",
        "metadata.google.internal",
        "0xa9fea9fe",
    ],
)
@pytest.mark.parametrize("scheme", ["rtsp", "http"])
def test_link_local_and_metadata_are_refused_everywhere(scheme: str, host: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_stream_url(f"{scheme}://user:hunter2@{host}/x", LOCAL)

    assert caught.value.code == "stream_url_address"
    assert "hunter2" not in str(caught.value)
    assert host not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0.0.0.0"])
def test_loopback_is_taken_where_allowed(host: str) -> None:
    assert parse_stream_url(f"rtsp://{host}:8554/x", LOCAL).port == 8554


@pytest.mark.parametrize("address", ["10.1.2.3", "172.16.0.1", "192.168.0.1", "fd12::1"])
def test_private_networks_are_where_cameras_live(address: str) -> None:
    check_address(ip_address(address), STRICT)


DENIED = StreamUrlRules(allow_loopback=True, denied_networks="10.20.0.0/16,fd00:20::/32")


@pytest.mark.parametrize(
    "host",
    [
        "10.20.3.4",
        "10.20.3.4.",
        "10.20.772",
        "0x0a140304",
        "[::ffff:10.20.3.4]",
        "[::10.20.3.4]",
        "[64:ff9b::a14:304]",
        "[2002:a14:304::1]",
        "[2001:0:4136:e378:8000:63bf:f5eb:fcfb]",  # A Teredo address.
        "[fd00:20::7]",
    ],
)
def test_denied_networks_have_no_cameras(host: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_stream_url(f"rtsp://user:hunter2@{host}/x", DENIED)

    assert caught.value.code == "stream_url_address"
    assert parse_stream_url(f"rtsp://{host}/x", LOCAL)


def test_a_denied_network_may_be_written_in_its_ipv6_form_and_be_loopback() -> None:
    rules = StreamUrlRules(
        allow_loopback=True, denied_networks="::ffff:10.20.0.0/112,127.0.0.2,::ffff:0:0:0/95"
    )

    for host in ("10.20.3.4", "[::ffff:10.20.3.4]", "127.0.0.2"):
        with pytest.raises(InvalidInputError):
            parse_stream_url(f"rtsp://{host}/x", rules)
    for host in ("10.21.3.4", "127.0.0.1", "cam.lan"):
        assert parse_stream_url(f"rtsp://{host}/x", rules)


def test_the_rules_have_the_denied_networks_of_the_settings() -> None:
    settings = CameraAddressSettings.model_validate({"camera_denied_networks": "10.20.0.1/16, ::1"})

    assert stream_url_rules(settings).denied_networks == "10.20.0.0/16,::1/128"


def test_a_file_is_named_by_its_whole_path() -> None:
    assert parse_stream_url("file:///clips/a%20b.mp4", LOCAL).path == "/clips/a b.mp4"
    for text in ("file://host/x", "file:clip.mp4", "file:///a%00b", "file:///a?x", "file:///a#x"):
        with pytest.raises(InvalidInputError):
            parse_stream_url(text, LOCAL)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("rtsp://u:hunter2@cam/x", "rtsp://u:***@cam/x"),
        ("rtsp://u:p@ss:w@cam:554/x?a=1", "rtsp://u:***@cam:554/x?a=1"),
        ("rtsp://:pw@cam/x", "rtsp://:***@cam/x"),
        ("rtsp://cam/x", "rtsp://cam/x"),
        ("rtsp://user@cam:554/x", "rtsp://user@cam:554/x"),
        ("http://cam/v?user=a&password=p_w/x&c=1", "http://cam/v?user=a&password=***&c=1"),
        (
            "rtsp://cam/user=admin_password=tlJ_channel=1_stream=0.sdp",
            "rtsp://cam/user=admin_password=***_channel=1_stream=0.sdp",
        ),
        *(
            (f"http://cam/v?{name}=abc_d-e=&c=1", f"http://cam/v?{name}=***&c=1")
            for name in (
                "pw",
                "pword",
                "pwrd",
                "passw",
                "passcode",
                "key",
                "apikey",
                "api_key",
                "accessKey",
                "access_key",
                "sig",
                "signature",
                "X-Amz-Signature",
                "credential",
                "credentials",
                "auth_token",
                "client_secret",
            )
        ),
        ("cannot open rtsp://u:pw@cam/x: no", "cannot open rtsp://u:***@cam/x: no"),
    ],
)
def test_passwords_are_masked(text: str, masked: str) -> None:
    assert mask_password(text) == masked


def test_a_masked_address_that_is_sent_back_keeps_its_password() -> None:
    stored = "rtsp://u:p@ss@cam/x?pwd=second&c=1"
    shown = mask_password(stored)

    assert restore_password(shown, stored) == stored
    assert restore_password(shown.replace("/x", "/y"), stored) == stored.replace("/x", "/y")
    assert restore_password("rtsp://u:new@cam/x", stored) == "rtsp://u:new@cam/x"
    assert restore_password("rtsp://cam/x", stored) == "rtsp://cam/x"


_STORED = "rtsp://u:hunter2@cam.lan/x?pwd=swordfish&channel=1"


@pytest.mark.parametrize(
    ("sent", "restored"),
    [
        ("rtsp://u:***@cam.lan/x?pwd=***&channel=1", _STORED),
        (
            "rtsp://u:***@cam.lan/y?pwd=***&channel=2",
            "rtsp://u:hunter2@cam.lan/y?pwd=swordfish&channel=2",
        ),
        ("rtsp://u:***@cam.lan:554/x?channel=1", "rtsp://u:hunter2@cam.lan:554/x?channel=1"),
        ("RTSP://u:***@CAM.lan/x", "RTSP://u:hunter2@CAM.lan/x"),
        ("rtsp://u:new@cam.lan/x?pwd=***", "rtsp://u:new@cam.lan/x?pwd=swordfish"),
        ("rtsp://other:new@elsewhere.lan/", "rtsp://other:new@elsewhere.lan/"),
    ],
)
def test_a_mask_in_its_own_place_keeps_the_password(sent: str, restored: str) -> None:
    assert restore_password(sent, _STORED) == restored


@pytest.mark.parametrize(
    "sent",
    [
        "rtsps://u:***@cam.lan/x",
        "http://u:***@cam.lan/x",
        "rtsp://u:***@evil.lan/x",
        "rtsp://u:***@cam.lan.evil.lan/x",
        "rtsp://u:***@cam.lan:8554/x",
        "rtsp://u:***@cam.lan:554@evil.lan/x",
        "rtsp://v:***@cam.lan/x",
        "rtsp://:***@cam.lan/x",
        "rtsp://U:***@cam.lan/x",
        "rtsp://u:***@10.0.0.1/x",
        "rtsp://evil.lan/x?pwd=***",
        "rtsp://u@cam.lan:555/x?pwd=***",
        "rtsp://u@cam.lan/x?password=***",
        "rtsp://u@cam.lan/x?token=***",
        "rtsp://u@cam.lan/x?pwd=***&pwd=***",
        "rtsp://u@cam.lan/x?pwd=a&pwd=***",
        "rtsp://u@cam.lan/x?next=http://u:***@evil.lan/",
        "rtsp://u:***@cam.lan/x?next=http://u:***@evil.lan/",
        "rtsp://cam.lan/x?next=rtsp://u:***@cam.lan/",
        "file:///clips/u:***@x?pwd=***",
    ],
)
def test_a_mask_anywhere_else_is_refused(sent: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        restore_password(sent, _STORED)

    assert "hunter2" not in str(refused.value)
    assert "swordfish" not in str(refused.value)


def test_a_mask_without_a_stored_password_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        restore_password("rtsp://u:***@cam/x", "rtsp://u@cam/x")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("rtsp://u:a@Cam/x", "rtsp://v:b@cam:554/x/", True),
        ("RTSP://cam/x", "rtsp://cam./x", True),
        ("rtsp://10.0.0.1/x", "rtsp://167772161/x", True),
        ("rtsp://cam/x?channel=1", "rtsp://cam/x?channel=2", False),
        ("rtsp://cam/x", "rtsp://cam/X", False),
        ("rtsp://cam/x", "http://cam/x", False),
        ("rtsp://cam/x", "rtsp://cam:555/x", False),
        ("http://cam/v?password=a", "http://cam/v?password=b", True),
    ],
)
def test_the_identifier_distinguishes_streams(one: str, other: str, same: bool) -> None:
    identifiers = {stream_identifier(parse_stream_url(text, STRICT)) for text in (one, other)}

    assert (len(identifiers) == 1) == same


_PASSWORDS = st.text(
    st.characters(codec="ascii", min_codepoint=0x21, exclude_characters="/?#\\[]\x7f")
).map(lambda text: f"Zq{text}")


@given(password=_PASSWORDS)
def test_no_password_shows_in_any_form(password: str) -> None:
    text = f"rtsp://user:{password}@cam.lan:554/live"
    url = parse_stream_url(text, STRICT)

    shown = mask_password(text)
    assert shown == "rtsp://user:***@cam.lan:554/live"
    assert "Zq" not in repr(url)
    assert "Zq" not in stream_identifier(url)
    assert restore_password(shown, text) == text


@given(text=st.text(max_size=60))
def test_any_text_is_taken_or_refused_with_a_code(text: str) -> None:
    for candidate in (text, f"rtsp://{text}", f"file:///{text}", f"http://[{text}]/"):
        try:
            stream_identifier(parse_stream_url(candidate, LOCAL))
        except InvalidInputError as error:
            assert error.code.startswith("stream_url_")
