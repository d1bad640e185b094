"""Runs Apprise's plugins, which convert a message into HTTP requests for a service.

This is the only module that imports apprise and requests. The import takes 0.25 s and 16 MB, so
it is only imported when the first Apprise URL is used. Plugins do not send anything themselves:
:class:`_RequestsStandIn` replaces ``requests`` and passes requests to the caller's exchange.
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

# Apprise logs URLs and responses, which can contain secrets.
logging.getLogger("apprise").disabled = True

_TARGET_LISTS: Final = ("targets", "topics", "channels", "devices", "groups")
# The sender's connection sets these headers, because it knows the length and the encodings.
_OWN_HEADERS: Final = frozenset({"content-length", "transfer-encoding", "accept-encoding", "host"})
_exchange: ContextVar[Exchange] = ContextVar("apprise_exchange")


class _RequestsStandIn:
    """Replaces the module ``requests`` in a plugin. Only the functions that plugins use exist."""

    RequestException = requests.RequestException
    codes = requests.codes

    def request(self, method: str, url: str, **options: Any) -> requests.Response:
        """Pass a request to the exchange of the current call, and return the response."""
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
            raise requests.ConnectionError("no response") from error

    def post(self, url: str, **options: Any) -> requests.Response:
        """Pass on a POST request."""
        return self.request("POST", url, **options)

    def get(self, url: str, **options: Any) -> requests.Response:
        """Pass on a GET request."""
        return self.request("GET", url, **options)


def first_request_url(url: str) -> str:
    """Return the URL of the first request that sending to an Apprise URL would make.

    Raises:
        InvalidInputError: the URL is invalid or causes no request (code ``apprise_url``).
    """
    found: list[str] = []

    def note(request: ServiceRequest) -> ServiceAnswer:
        found.append(request.url)
        raise NoAnswerError

    send_message(url, NotificationMessage(title="Test", text="Test"), note)
    if not found:
        raise refused("is incomplete: it names no destination")
    return found[0]


def send_message(url: str, message: NotificationMessage, exchange: Exchange) -> bool:
    """Send a message through an Apprise URL; return whether the service accepted it. Blocks.

    Raises:
        InvalidInputError: the URL is invalid (code ``apprise_url``).
    """
    plugin = _opened(url)
    attach = None
    if message.picture is not None and plugin.attachment_support:
        attach = AppriseAttachment(asset=plugin.asset)
        picture: Any = AttachMemory  # the package has no type information
        attach.add(picture(message.picture, name="plate.jpg", mimetype="image/jpeg"))
    with _exchanging(exchange):
        try:
            return bool(plugin.notify(body=message.text, title=message.title, attach=attach))
        except Exception as error:
            # A third-party library can raise any error, and the message may contain the URL.
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
    """Return the plugin of an Apprise URL, which must have exactly one recipient.

    If one of several recipients failed, a retry would notify the other recipients again.
    """
    service = SERVICES[service_scheme(url)]
    kind = _guarded(service)
    try:
        parts = kind.parse_url(url)
        if not parts:
            raise refused("is not a valid URL for this service")
        _check_parameters(parts)
        plugin: NotifyBase = kind(**parts, asset=_asset())
        _check_one_target(plugin, service)
    except InvalidInputError:
        raise
    except Exception:
        # For untrusted input, the library raises various exceptions, which may repeat the URL.
        raise refused("is not a valid URL for this service") from None
    # Otherwise, the plugin sleeps between the requests of one message.
    plugin.request_rate_per_sec = 0
    return plugin


def _check_parameters(parts: dict[str, Any]) -> None:
    unknown = {*parts.get("qsd", {})} - PARAMETERS
    if unknown or any(parts.get(f"qsd{sign}") for sign in "+-:"):
        raise refused(f"may only have these parameters: {', '.join(sorted(PARAMETERS))}")


def _check_one_target(plugin: NotifyBase, service: ServicePlugin) -> None:
    named = [len(getattr(plugin, name, None) or ()) for name in _TARGET_LISTS]
    if len(plugin) > 1 or sum(named) > 1:
        raise refused("names more than one recipient; use a separate notification for each")
    if len(plugin) == 0 or (service.needs_target and not any(named)):
        raise refused("names no recipient")


@cache
def _guarded(service: ServicePlugin) -> type[NotifyBase]:
    """Return a plugin's class, after replacing ``requests`` in its module with the stand-in."""
    module = importlib.import_module(f"apprise.plugins.{service.module}")
    setattr(module, "requests", _RequestsStandIn())  # noqa: B010 # mypy knows modules' names
    kind: type[NotifyBase] = getattr(module, service.name)
    return kind


@cache
def _asset() -> AppriseAsset:
    """Return the application data for plugins: a name, but no images, files or storage."""
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
    response._content = answer.body  # the tests of requests do the same
    return response


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _bytes(body: Any) -> bytes:
    if body is None:
        return b""
    if hasattr(body, "read"):
        body = body.read()
    return body.encode() if isinstance(body, str) else bytes(body)
