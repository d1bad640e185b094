"""Lists the supported notification services, which Apprise URLs (``ntfys://…``) configure. No I/O.

An Apprise URL can also refer to files, programs and message buses of other machines. The plugins
listed here only send HTTP requests (checked by ``tests/unit/common/apprise``).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from common.errors import InvalidInputError
from common.urls.outbound import FORBIDDEN_CHARACTERS
from common.urls.streams import MASK

MAX_APPRISE_URL_LENGTH: Final = 1024


@dataclass(frozen=True)
class ServicePlugin:
    """The Apprise module and class of a service.

    ``needs_target``: whether the plugin would choose a recipient if the URL named no recipient.
    """

    module: str
    name: str
    needs_target: bool = False


_OVER_HTTP: Final[Mapping[str, ServicePlugin]] = {
    "gotify": ServicePlugin("gotify", "NotifyGotify"),
    "hassio": ServicePlugin("home_assistant", "NotifyHomeAssistant"),
    "mmost": ServicePlugin("mattermost", "NotifyMattermost"),
    "nctalk": ServicePlugin("nextcloudtalk", "NotifyNextcloudTalk"),
    "ntfy": ServicePlugin("ntfy", "NotifyNtfy"),
    "signal": ServicePlugin("signal_api", "NotifySignalAPI"),
    "synology": ServicePlugin("synology", "NotifySynology"),
}
"""Self-hosted services. Schemes with an ``s`` use HTTPS."""

SERVICES: Final[Mapping[str, ServicePlugin]] = {
    "46elks": ServicePlugin("fortysixelks", "Notify46Elks"),
    "clicksend": ServicePlugin("clicksend", "NotifyClickSend"),
    "discord": ServicePlugin("discord", "NotifyDiscord"),
    "gchat": ServicePlugin("google_chat", "NotifyGoogleChat"),
    "pover": ServicePlugin("pushover", "NotifyPushover"),
    "seven": ServicePlugin("seven", "NotifySeven"),
    "slack": ServicePlugin("slack", "NotifySlack"),
    "tgram": ServicePlugin("telegram", "NotifyTelegram", needs_target=True),
    "twilio": ServicePlugin("twilio", "NotifyTwilio"),
    "vonage": ServicePlugin("vonage", "NotifyVonage"),
    "zulip": ServicePlugin("zulip", "NotifyZulip"),
    **_OVER_HTTP,
    **{f"{scheme}s": plugin for scheme, plugin in _OVER_HTTP.items()},
}
"""The supported services, by the scheme of their URLs."""

PARAMETERS: Final = frozenset({
    "apikey", "auth", "channel", "expire", "flash", "from", "interval", "key", "label", "priority",
    "secret", "sid", "silent", "sound", "tags", "team", "thread", "to", "token", "topic", "ttl",
    "url_prefix", "workspace", "xtags",
})  # fmt: skip
"""Allowed query parameters: recipient and presentation.

Other parameters would name files or headers, change the retries or disable certificate checks.
"""


@dataclass(frozen=True, repr=False)
class ServiceRequest:
    """An HTTP request to a service, as created by its plugin."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, repr=False)
class ServiceAnswer:
    """A service's response; ``body`` may be truncated."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NoAnswerError(Exception):
    """The service did not respond, or no request was made."""


Exchange = Callable[[ServiceRequest], ServiceAnswer]
"""Sends a request and returns the response, or raises :class:`NoAnswerError`. Blocks."""


@dataclass(frozen=True, kw_only=True)
class NotificationMessage:
    """A notification; ``picture`` is a JPEG for services that accept images."""

    title: str
    text: str
    picture: bytes | None = None


def service_scheme(url: str) -> str:
    """Return the scheme of an Apprise URL, which is one of :data:`SERVICES`.

    Raises:
        InvalidInputError: the URL is invalid (code ``apprise_url``, without the URL itself).
    """
    if not url or len(url) > MAX_APPRISE_URL_LENGTH:
        raise refused(f"must have 1 to {MAX_APPRISE_URL_LENGTH} characters")
    if FORBIDDEN_CHARACTERS.search(url):
        raise refused("must not contain spaces, backslashes or control characters")
    if not url.isascii():
        raise refused("must be ASCII; percent-encode other characters, for example %C3%A9")
    scheme = url.partition("://")[0]
    if scheme not in SERVICES:
        raise refused(
            f"must begin with one of {', '.join(f'{name}://' for name in sorted(SERVICES))}"
        )
    return scheme


def is_masked(url: str) -> bool:
    """Return whether a URL is masked, as in API responses."""
    return url.partition("://")[2] == MASK


def refused(message: str) -> InvalidInputError:
    """Return the error for a rejected Apprise URL."""
    return InvalidInputError(message, code="apprise_url")
