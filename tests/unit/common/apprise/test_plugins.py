"""Apprise URLs that are accepted, and plugins that send only through our exchange."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from common.apprise.plugins import first_request_url, send_message
from common.apprise.services import (
    PARAMETERS,
    SERVICES,
    NoAnswerError,
    NotificationMessage,
    ServiceAnswer,
    ServiceRequest,
    is_masked,
    service_scheme,
)
from common.errors import InvalidInputError

MESSAGE = NotificationMessage(title="Gate: AB12CDE", text="Plate: AB12CDE", picture=b"\xff\xd8jpeg")
ADDRESSES = {
    "46elks": "46elks://user:password@+15551112222/+46766861004",
    "clicksend": "clicksend://user:word@351911111111",
    "discord": "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js",
    "gchat": "gchat://workspace/key/token",
    "gotify": "gotify://push.example.com/t0ken",
    "hassio": "hassio://home.example.com/t0ken.abc",
    "mmost": "mmost://chat.example.com/3ccdd113474722377935511fc85d3dd4",
    "nctalk": "nctalk://user:word@cloud.example.com/room",
    "ntfy": "ntfy://user:word@push.example.com:8080/gate?priority=high",
    "pover": f"pover://{'u' * 30}@{'t' * 30}",
    "seven": "seven://apikey123/351911111111",
    "signal": "signal://signal.example.com:9000/+351911111111/+351922222222",
    "slack": "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general",
    "synology": "synology://nas.example.com/t0ken",
    "tgram": "tgram://123456789:abcdefg_hijklmnop/12315544",
    "twilio": "twilio://AC735c307c62944b5a:e29dfbcebf390dee9@15551112222/15551113333",
    "vonage": "vonage://29b1c75c:7vBDuCyYgDQQo6iS@351911111111/351922222222",
    "zulip": f"zulip://bot@org/{'a' * 32}/general",
}
_FORBIDDEN = {"socket", "subprocess", "smtplib", "http", "ctypes", "multiprocessing", "asyncio"}


def test_every_service_is_tried_here() -> None:
    assert {SERVICES[scheme] for scheme in ADDRESSES} == {*SERVICES.values()}


@pytest.mark.parametrize("scheme", ADDRESSES)
def test_a_message_leaves_by_the_exchange_whole(scheme: str) -> None:
    made: list[ServiceRequest] = []

    def exchange(request: ServiceRequest) -> ServiceAnswer:
        made.append(request)
        return ServiceAnswer(200, {"Content-Type": "application/json"}, b'{"ok":true,"status":1}')

    send_message(ADDRESSES[scheme], MESSAGE, exchange)
    text = b"".join(b"%b %b" % (each.url.encode(), each.body) for each in made)
    assert b"AB12CDE" in text
    assert not {"content-length", "host"} & {name.lower() for one in made for name in one.headers}
    assert first_request_url(ADDRESSES[scheme]).startswith(("http://", "https://"))


@pytest.mark.parametrize("scheme", ADDRESSES)
def test_a_service_that_does_not_answer_is_a_failure_and_no_error(scheme: str) -> None:
    def exchange(request: ServiceRequest) -> ServiceAnswer:
        raise NoAnswerError

    assert send_message(ADDRESSES[scheme], MESSAGE, exchange) is False


@pytest.mark.parametrize("module", sorted({service.module for service in SERVICES.values()}))
def test_a_plugin_knows_no_other_way_out(module: str) -> None:
    """A plugin imports no module that connects or runs programs, and requests is our own module."""
    plugin = importlib.import_module(f"apprise.plugins.{module}")
    tree = ast.parse(inspect.getsource(plugin))
    imported = {
        (node.module or "" if isinstance(node, ast.ImportFrom) else alias.name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0)
        for alias in node.names
    }
    assert not imported & _FORBIDDEN
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "requests"
    }
    assert used <= {"post", "get", "request", "codes", "RequestException", "Response"}
    assert not {"exec", "eval", "__import__"} & {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name)
    }


def test_after_the_first_address_the_plugin_uses_only_our_requests() -> None:
    first_request_url(ADDRESSES["ntfy"])
    stand_in = importlib.import_module("apprise.plugins.ntfy").requests
    assert not hasattr(stand_in, "Session")


@pytest.mark.parametrize("scheme", ["ntfy", "gotify", "discord", "pover", "signal", "tgram"])
def test_the_image_is_sent_if_the_service_accepts_one(scheme: str) -> None:
    bodies: list[bytes] = []

    def exchange(request: ServiceRequest) -> ServiceAnswer:
        bodies.append(request.body)
        return ServiceAnswer(200, {}, b'{"ok":true,"status":1}')

    assert send_message(ADDRESSES[scheme], MESSAGE, exchange)
    sent = b"".join(bodies)
    # Gotify accepts no image, and Signal needs base64.
    takes_one = scheme != "gotify"
    assert (b"\xff\xd8jpeg" in sent or b"/9hqcGVn" in sent) is takes_one


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "must have 1 to"),
        (f"ntfy://push.example.com/{'a' * 1024}", "must have 1 to"),
        ("ntfy://push.example.com/a b", "must not contain spaces"),
        ("ntfy://push.example.com/gaté", "must be ASCII"),
        ("ntfy://push.example.com/\ud800", "must be ASCII"),
        ("https://push.example.com/", "must begin with one of 46elks://"),
        ("dbus://", "must begin with one of"),
        ("syslog://push.example.com", "must begin with one of"),
        ("json://push.example.com/", "must begin with one of"),
        ("file:///etc/passwd", "must begin with one of"),
        ("mailto://user:word@example.com", "must begin with one of"),
        ("NTFY://push.example.com/gate", "must begin with one of"),
        ("ntfy://", "is incomplete"),
        ("gotify://push.example.com", "is not a valid URL for this service"),
        ("tgram://123456789:abcdefg_hijklmnop/", "names no recipient"),
        ("ntfy://push.example.com/a/b", "names more than one recipient"),
        ("ntfy://push.example.com/a,b", "names more than one recipient"),
        ("ntfy://push.example.com/a?to=b", "names more than one recipient"),
        ("tgram://123456789:abcdefg_hijklmnop/1/2", "names more than one recipient"),
        (f"{ADDRESSES['twilio']}/15551114444", "names more than one recipient"),
        *(
            (f"ntfy://push.example.com/gate?{parameter}", "may only have these parameters")
            for parameter in (
                "template=/etc/passwd",
                "attach=file:///etc/passwd",
                "verify=no",
                "retry=5",
                "wait=60",
                "optional=yes",
                "store=yes",
                "overflow=split",
                "rto=600",
                "+Host=inside",
                "-x=1",
                ":plate=1",
                "TEMPLATE=x",
                "%74emplate=x",
            )
        ),
    ],
)
def test_what_is_refused_is_refused_in_a_sentence(url: str, said: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        first_request_url(url)
    assert str(caught.value).startswith(said)
    assert "passwd" not in str(caught.value)


_TEXTS = st.text(alphabet="abz019:/@?&#=%+-_.,*[]<>\"'{}|;!~é🙂", max_size=60)


@given(
    scheme=st.sampled_from(sorted(SERVICES)),
    rest=_TEXTS,
    name=st.sampled_from([*sorted(PARAMETERS), "x"]),
)
@example("signal", "[::1", "to")
@example("ntfy", "host:99999/gate", "to")
@example("slack", "T/A/B/#%ff%fe", "token")
@example("zulip", "%00@org/a", "to")
def test_strange_addresses_are_taken_or_refused_and_never_an_error(
    scheme: str, rest: str, name: str
) -> None:
    for url in (f"{scheme}://{rest}", f"{ADDRESSES.get(scheme, scheme + '://h/a')}?{name}={rest}"):
        try:
            first_request_url(url)
        except InvalidInputError as error:
            assert error.code == "apprise_url"


def test_a_mask_is_known_as_one() -> None:
    assert is_masked("ntfys://***")
    assert not is_masked("ntfys://***/x")
    assert service_scheme("ntfys://***") == "ntfys"


def test_the_library_is_not_imported_without_an_address() -> None:
    root = Path(__file__).parents[4]
    rooms = ("api", "common", "streams")
    for path in (each for room in rooms for each in (root / room).rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            is_import = isinstance(node, ast.ImportFrom) and node.module == "common.apprise.plugins"
            assert not is_import, path
