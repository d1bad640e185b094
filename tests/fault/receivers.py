"""Receivers of webhooks and email that store every delivery, and can become unavailable."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from common.records.webhooks import EventName
from tests.blocks import RunsForABlock
from tests.fault.rules import GATE
from tests.services.mail import MailServer
from tests.services.receiver import Received, Receiver

ALL = "/all"
"""Path of the webhook for all events. Notifications of alerts are sent to ``GATE``."""

_RECOGNITION_OF_EMAIL = re.compile(r"/recognitions/([0-9a-f-]{36})")


Cause = tuple[str, EventName, str, str]
"""Endpoint, event type, the ID of the event's subject, and the alert's name, if any."""


@dataclass(frozen=True)
class ReceivedEvent:
    """A delivery as it arrived. ``alert`` is the alert's name, or empty for a recognition.

    ``about`` is the ID of the recognition, or of the trigger if a webhook receives an alert.
    """

    endpoint: str
    id: str
    about: str
    event: EventName
    alert: str = ""

    @property
    def cause(self) -> Cause:
        return self.endpoint, self.event, self.about, self.alert


class Receivers(RunsForABlock):
    """The webhook receiver and the mail server, as a context manager."""

    MAIL = "mail"

    def __init__(self) -> None:
        """Create the receivers; they listen once the block is entered."""
        self.web = Receiver()
        self.mail = MailServer()
        self._servers = ExitStack()

    def received(self) -> list[ReceivedEvent]:
        """Return everything received so far, including repeats."""
        return [*self._webhooks(), *self._emails()]

    def _webhooks(self) -> Iterator[ReceivedEvent]:
        for request in tuple(self.web.received):
            if request.path in (ALL, GATE):
                yield _received_event(request)

    def _emails(self) -> Iterator[ReceivedEvent]:
        for email in tuple(self.mail.emails):
            plain = email.get_body(("plain",))
            assert plain is not None
            found = _RECOGNITION_OF_EMAIL.search(plain.get_content())
            assert found is not None, email.as_string()
            alert = str(email["Subject"]).split(":")[0]
            name = EventName.ALERT_TRIGGERED
            yield ReceivedEvent(self.MAIL, str(email["Message-ID"]), found[1], name, alert)

    def _begin(self) -> None:
        self._servers.enter_context(self.web)
        self._servers.enter_context(self.mail)

    def _end(self, error: BaseException | None) -> None:
        self._servers.close()


def _received_event(request: Received) -> ReceivedEvent:
    body = request.json
    assert request.headers["webhook-id"] == body["id"] == request.headers["x-event-id"]
    data, name = body["data"], EventName(body["event"])
    if "alert" not in data:
        return ReceivedEvent(request.path, body["id"], data["recognition"]["id"], name)
    return ReceivedEvent(request.path, body["id"], data["triggerId"], name, data["alert"]["name"])
