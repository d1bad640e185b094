"""The services that people are told by, each named by an Apprise address, ``ntfys://…``. Pure.

An address of Apprise may also name files, programs and other machines' buses. What is here are
plugins that only send HTTP requests (``tests/unit/common/apprise`` holds them to it).
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
    """The module and class of Apprise that speak to a service.

    ``needs_target``: without one it would look for somebody to tell by itself.
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
"""Services on servers of one's own; their schemes with an ``s`` are over HTTPS."""

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
"""The services that are spoken to, by the scheme of their addresses."""

PARAMETERS: Final = frozenset({
    "apikey", "auth", "channel", "expire", "flash", "from", "interval", "key", "label", "priority",
    "secret", "sid", "silent", "sound", "tags", "team", "thread", "to", "token", "topic", "ttl",
    "url_prefix", "workspace", "xtags",
})  # fmt: skip
"""What may stand behind the ``?``: whom it goes to, and how it rings there.

The others name files, headers, other attempts or no check of certificates.
"""


@dataclass(frozen=True, repr=False)
class ServiceRequest:
    """An HTTP request to a service, as its plugin makes it."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, repr=False)
class ServiceAnswer:
    """A service's answer; ``body`` may be cut off."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NoAnswerError(Exception):
    """A service did not answer, or was not asked."""


Exchange = Callable[[ServiceRequest], ServiceAnswer]
"""Makes a request and returns the answer; raises :class:`NoAnswerError`. Blocks."""


@dataclass(frozen=True, kw_only=True)
class NotificationMessage:
    """What people are told; ``picture`` is a JPEG, for services that take one."""

    title: str
    text: str
    picture: bytes | None = None


def service_scheme(url: str) -> str:
    """Return the scheme of an address, which is one of :data:`SERVICES`.

    Raises:
        InvalidInputError: code ``apprise_url``; the message does not repeat the address.
    """
    if not url or len(url) > MAX_APPRISE_URL_LENGTH:
        raise refused(f"must have 1 to {MAX_APPRISE_URL_LENGTH} characters")
    if FORBIDDEN_CHARACTERS.search(url):
        raise refused("may not hold a space, a backslash or a control character")
    if not url.isascii():
        raise refused("must be ASCII; write other letters as %C3%A9")
    scheme = url.partition("://")[0]
    if scheme not in SERVICES:
        raise refused(
            f"must begin with one of {', '.join(f'{name}://' for name in sorted(SERVICES))}"
        )
    return scheme


def is_masked(url: str) -> bool:
    """Return whether an address is one as reads show it."""
    return url.partition("://")[2] == MASK


def refused(message: str) -> InvalidInputError:
    """Return the error of an address that is not taken."""
    return InvalidInputError(message, code="apprise_url")
