"""Apprise's plugins, which turn a message into the requests of a service.

The only module that imports apprise and requests: a quarter of a second and 16 MB, so it is
imported where the first address is met. Nothing is sent here: each plugin has, in the place of
``requests``, :class:`_RequestsStandIn`, which hands its requests to the caller's exchange.
"""

import importlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, Final

import requests
import structlog
from apprise.apprise_attachment import AppriseAttachment
from apprise.asset import AppriseAsset
from apprise.attachment.memory import AttachMemory
from apprise.plugins.base import NotifyBase
from requests.structures import CaseInsensitiveDict

from common.apprise.services import (
    PARAMETERS,
    SERVICES,
    Exchange,
    NoAnswerError,
    NotificationMessage,
    ServiceAnswer,
    ServicePlugin,
    ServiceRequest,
    refused,
    service_scheme,
)
from common.errors import InvalidInputError

log = structlog.get_logger()

# It writes addresses and answers.
logging.getLogger("apprise").disabled = True

_TARGET_LISTS: Final = ("targets", "topics", "channels", "devices", "groups")
# The sender's own connection knows the length, and what it can unpack.
_OWN_HEADERS: Final = frozenset({"content-length", "transfer-encoding", "accept-encoding", "host"})
_exchange: ContextVar[Exchange] = ContextVar("apprise_exchange")


class _RequestsStandIn:
    """Stands in a plugin for the module ``requests``, with what the plugins use of it."""

    RequestException = requests.RequestException
    codes = requests.codes

    def request(self, method: str, url: str, **options: Any) -> requests.Response:
        """Hand a request to the exchange of the call in hand."""
        made = ("params", "data", "headers", "files", "json", "auth")
        wanted = {name: options[name] for name in made if name in options}
        prepared = requests.Request(method.upper(), url, **wanted).prepare()
        request = ServiceRequest(
            method=str(prepared.method),
            url=str(prepared.url),
            headers={
                name: _text(value)
                for name, value in prepared.headers.items()
                if name.lower() not in _OWN_HEADERS
            },
            body=_bytes(prepared.body),
        )
        try:
            return _response(_exchange.get()(request))
        except NoAnswerError as error:
            raise requests.ConnectionError("no answer") from error

    def post(self, url: str, **options: Any) -> requests.Response:
        """Hand on a POST."""
        return self.request("POST", url, **options)

    def get(self, url: str, **options: Any) -> requests.Response:
        """Hand on a GET."""
        return self.request("GET", url, **options)


def first_request_url(url: str) -> str:
    """Return the URL that a message to the service of an address would go to first.

    Raises:
        InvalidInputError: code ``apprise_url``, for an address that gives no request.
    """
    found: list[str] = []

    def note(request: ServiceRequest) -> ServiceAnswer:
        found.append(request.url)
        raise NoAnswerError

    send_message(url, NotificationMessage(title="Test", text="Test"), note)
    if not found:
        raise refused("is not complete: nothing could be sent to it")
    return found[0]


def send_message(url: str, message: NotificationMessage, exchange: Exchange) -> bool:
    """Send a message to the service of an address; return whether the service took it. Blocks.

    Raises:
        InvalidInputError: code ``apprise_url``.
    """
    plugin = _opened(url)
    attach = None
    if message.picture is not None and plugin.attachment_support:
        attach = AppriseAttachment(asset=plugin.asset)
        picture: Any = AttachMemory  # published without types
        attach.add(picture(message.picture, name="plate.jpg", mimetype="image/jpeg"))
    with _exchanging(exchange):
        try:
            return bool(plugin.notify(body=message.text, title=message.title, attach=attach))
        except Exception as error:
            # The edge of a library; what it says may hold the address.
            log.warning("apprise_plugin_failed", error=type(error).__name__)
            return False


@contextmanager
def _exchanging(exchange: Exchange) -> Iterator[None]:
    token = _exchange.set(exchange)
    try:
        yield
    finally:
        _exchange.reset(token)


def _opened(url: str) -> NotifyBase:
    """Return the plugin of an address, which has exactly one target.

    Several would be told again where one of them fails.
    """
    service = SERVICES[service_scheme(url)]
    kind = _guarded(service)
    try:
        parts = kind.parse_url(url)
        if not parts:
            raise refused("is not an address of that service")
        _check_parameters(parts)
        plugin: NotifyBase = kind(**parts, asset=_asset())
        _check_one_target(plugin, service)
    except InvalidInputError:
        raise
    except Exception:
        # The edge of a library that is given what strangers wrote: it raises this and that, and
        # may repeat the address.
        raise refused("is not an address of that service") from None
    # It would sleep between the requests of one message.
    plugin.request_rate_per_sec = 0
    return plugin


def _check_parameters(parts: dict[str, Any]) -> None:
    unknown = {*parts.get("qsd", {})} - PARAMETERS
    if unknown or any(parts.get(f"qsd{sign}") for sign in "+-:"):
        raise refused(f"may only have these parameters: {', '.join(sorted(PARAMETERS))}")


def _check_one_target(plugin: NotifyBase, service: ServicePlugin) -> None:
    named = [len(getattr(plugin, name, None) or ()) for name in _TARGET_LISTS]
    if len(plugin) > 1 or sum(named) > 1:
        raise refused("names several targets: give each an address of its own")
    if len(plugin) == 0 or (service.needs_target and not any(named)):
        raise refused("names nobody to tell")


@cache
def _guarded(service: ServicePlugin) -> type[NotifyBase]:
    """Return a plugin's class, once its module can send by nothing but the stand-in."""
    module = importlib.import_module(f"apprise.plugins.{service.module}")
    setattr(module, "requests", _RequestsStandIn())  # noqa: B010 # mypy knows modules' names
    kind: type[NotifyBase] = getattr(module, service.name)
    return kind


@cache
def _asset() -> AppriseAsset:
    """Return what plugins know of this program: its name; no pictures, files or storage."""
    return AppriseAsset(
        app_id="Platestream",
        app_desc="Platestream",
        app_url="",
        image_url_mask="",
        image_url_logo="",
        image_path_mask=False,
        allow_templates=False,
        pgp_autogen=False,
        pem_autogen=False,
    )


def _response(answer: ServiceAnswer) -> requests.Response:
    response = requests.Response()
    response.status_code = answer.status
    response.headers = CaseInsensitiveDict(answer.headers)
    response._content = answer.body  # the library's own tests make answers like this
    return response


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _bytes(body: Any) -> bytes:
    if body is None:
        return b""
    if hasattr(body, "read"):
        body = body.read()
    return body.encode() if isinstance(body, str) else bytes(body)
