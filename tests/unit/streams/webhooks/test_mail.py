"""How many letters an address gets in an hour, whatever the server does."""

import asyncio

import aiosmtplib
import pytest

from contracts.alert_records import AlertTrigger
from contracts.deliveries import Delivery, EmailTarget, trigger_delivery
from streams.webhooks.mail import MailSender
from streams.webhooks.schedule import SendKind
from streams.webhooks.settings import MailSettings
from tests.records import alert, recognition

GUARD = "guard@example.com"


class Server:
    """An SMTP server that can be away or slow."""

    def __init__(self) -> None:
        self.is_away = False
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def send(self, *letter: object, **options: object) -> None:
        """Take a letter."""
        await self.may_answer.wait()
        if self.is_away:
            raise aiosmtplib.SMTPConnectError("away")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server that letters go to."""
    made = Server()
    monkeypatch.setattr(aiosmtplib, "send", made.send)
    return made


@pytest.fixture
def sender(server: Server) -> MailSender:
    """A sender of two letters an hour, at a moment that does not pass."""
    settings = MailSettings.model_validate(
        {
            "smtp_host": "127.0.0.1",
            "smtp_from": "gate@example.com",
            "mail_per_address_per_hour": 2,
        }
    )
    return MailSender(settings, _no_picture, timeout_seconds=1, clock=lambda: 1.0)


async def _no_picture(key: str) -> bytes | None:
    return None


def _delivery(number: int = 1) -> Delivery:
    made = recognition(number)
    trigger = AlertTrigger(
        id=made.id, owner_id=made.owner_id, alert=alert(1), recognition=made, decided_ms=1
    )
    target = EmailTarget(alert_id=trigger.alert.alert_id, address_encrypted="unused")
    return trigger_delivery(trigger, "email-1", target)


async def test_only_what_was_accepted_counts(server: Server, sender: MailSender) -> None:
    server.is_away = True
    away = [(await sender.send(_delivery(), GUARD)).kind for _ in range(5)]
    server.is_away = False
    back = [(await sender.send(_delivery(), GUARD.upper())).kind for _ in range(4)]

    assert away == [SendKind.FAILED] * 5
    assert back == [SendKind.ACCEPTED] * 2 + [SendKind.REFUSED] * 2


async def test_what_is_under_way_at_once_is_neither_too_much_nor_lost(
    server: Server, sender: MailSender
) -> None:
    server.may_answer.clear()
    sending = [asyncio.create_task(sender.send(_delivery(n), GUARD)) for n in range(4)]
    await asyncio.sleep(0)
    server.may_answer.set()
    kinds = [(await task).kind for task in sending]

    assert kinds == [SendKind.ACCEPTED] * 2 + [SendKind.FAILED] * 2
    assert (await sender.send(_delivery(), GUARD)).kind is SendKind.REFUSED
