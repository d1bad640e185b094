"""Limit of emails per hour and address, whatever the mail server does."""

import asyncio
from collections.abc import Callable
from email.message import EmailMessage
from uuid import UUID, uuid4

import aiosmtplib
import msgspec
import pytest

from common.mail_settings import EmailSettings
from common.records.deliveries import Delivery, EmailTarget, trigger_delivery
from streams.webhooks.delivery.schedule import SendKind
from streams.webhooks.email.sender import EmailSender
from tests.records import alert, alert_trigger, recognition

GUARD = "guard@example.com"


class Server:
    """An SMTP server that can be unavailable or slow."""

    def __init__(self) -> None:
        self.is_unavailable = False
        self.emails: list[EmailMessage] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def send(self, email: EmailMessage, **options: object) -> None:
        self.emails.append(email)
        await self.may_answer.wait()
        if self.is_unavailable:
            raise aiosmtplib.SMTPConnectError("unavailable")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(aiosmtplib, "send", made.send)
    return made


@pytest.fixture
def sender(server: Server) -> EmailSender:
    """A sender with a limit of two emails per hour, at a fixed time."""
    return _sender(messages_per_address_per_hour=2)


def _sender(clock: Callable[[], float] = lambda: 1.0, **bounds: int) -> EmailSender:
    settings = EmailSettings.model_validate(
        {"smtp_host": "127.0.0.1", "smtp_from": "gate@example.com", **bounds}
    )
    return EmailSender(settings, _no_image, timeout_seconds=1, clock=clock)


async def _no_image(key: str) -> bytes | None:
    return None


def _delivery(number: int = 1, **changed: UUID) -> Delivery:
    made = msgspec.structs.replace(recognition(number), **changed)
    trigger = alert_trigger(alert(1), made, owner_id=made.owner_id)
    target = EmailTarget(alert_id=trigger.alert.alert_id, address_encrypted="unused")
    return trigger_delivery(trigger, "email-1", target)


async def test_only_what_was_accepted_counts(server: Server, sender: EmailSender) -> None:
    server.is_unavailable = True
    meanwhile = [(await sender.send(_delivery(), GUARD)).kind for _ in range(5)]
    server.is_unavailable = False
    afterwards = [(await sender.send(_delivery(), GUARD.upper())).kind for _ in range(4)]

    assert meanwhile == [SendKind.FAILED] * 5
    assert afterwards == [SendKind.ACCEPTED] * 2 + [SendKind.REFUSED] * 2
    plain = [email.get_body(("plain",)) for email in server.emails]
    said = ["hourly limit is reached" in part.get_content() for part in plain if part is not None]
    assert said == [False] * 6 + [True]


async def test_emails_in_flight_at_once_neither_exceed_the_limit_nor_are_lost(
    server: Server, sender: EmailSender
) -> None:
    server.may_answer.clear()
    sending = [asyncio.create_task(sender.send(_delivery(n), GUARD)) for n in range(4)]
    await asyncio.sleep(0)
    server.may_answer.set()
    kinds = [(await task).kind for task in sending]

    assert kinds == [SendKind.ACCEPTED] * 2 + [SendKind.FAILED] * 2
    assert (await sender.send(_delivery(), GUARD)).kind is SendKind.REFUSED


@pytest.mark.usefixtures("server")
async def test_an_account_with_many_addresses_is_bounded_until_the_hour_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("common.mail.server.PER_OWNER_PER_HOUR", 3)
    now = 1.0
    sender = _sender(lambda: now)
    results = [await sender.send(_delivery(n), f"guard-{n}@example.com") for n in range(5)]
    other = await sender.send(_delivery(9, owner_id=uuid4()), GUARD)
    now += 3600
    later = await sender.send(_delivery(10), GUARD)

    kinds = [result.kind for result in results]
    assert kinds == [SendKind.ACCEPTED] * 3 + [SendKind.REFUSED] * 2
    assert results[-1].error == "The account has reached its limit of 3 emails per hour."
    assert [result.is_held_back for result in results] == [False] * 3 + [True] * 2
    assert (other.kind, later.kind) == (SendKind.ACCEPTED, SendKind.ACCEPTED)


@pytest.mark.usefixtures("server")
async def test_what_the_account_may_not_send_does_not_use_up_the_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("common.mail.server.PER_OWNER_PER_HOUR", 1)
    now = 1.0
    sender = _sender(lambda: now, messages_per_address_per_hour=1)
    await sender.send(_delivery(1), GUARD)
    refused = await sender.send(_delivery(2), "other@example.com")
    now += 3600

    assert refused.kind is SendKind.REFUSED
    assert (await sender.send(_delivery(3), "other@example.com")).kind is SendKind.ACCEPTED


@pytest.mark.usefixtures("server")
async def test_an_account_may_be_without_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.mail.server.PER_OWNER_PER_HOUR", 0)
    sender = _sender()
    kinds = {(await sender.send(_delivery(n), f"g{n}@example.com")).kind for n in range(600)}

    assert kinds == {SendKind.ACCEPTED}
