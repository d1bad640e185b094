"""Alert emails through a real SMTP server."""

import asyncio
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import uvloop

from common.errors import TransientError
from common.mail_settings import EmailSettings
from common.records.deliveries import Delivery, DeliveryCause, EmailTarget, trigger_delivery
from streams.webhooks.delivery.schedule import SendKind
from streams.webhooks.email.sender import EmailSender
from tests.records import alert, alert_trigger, recognition
from tests.services.authority import Authority, self_signed
from tests.services.mail import MailServer

pytestmark = pytest.mark.integration

GUARD = "guard@example.com"
CROP = b"\xff\xd8\xff an image \xff\xd9"


@pytest.fixture
def server() -> Iterator[MailServer]:
    """A mail server without TLS."""
    with MailServer() as running:
        yield running


async def _crop(key: str) -> bytes | None:
    return CROP


async def _no_crop(key: str) -> bytes | None:
    raise TransientError("S3 is unavailable")


def _sender(server: MailServer, crop: Any = _crop, **settings: Any) -> EmailSender:
    given = {
        "smtp_host": "127.0.0.1",
        "smtp_port": server.port,
        "smtp_encryption": "none",
        "smtp_from": "Gate <gate@platestream.example>",
        "public_url": "https://plates.example.com",
    } | settings
    return EmailSender(EmailSettings.model_validate(given), crop, timeout_seconds=5)


def _delivery(number: int = 1) -> Delivery:
    rule = alert(1, name="Stolen <cars>", timezone="Europe/Lisbon")
    trigger = alert_trigger(rule, recognition(number))
    target = EmailTarget(alert_id=trigger.alert.alert_id, address_encrypted="unused")
    return trigger_delivery(trigger, "email-1", target)


async def test_an_email_has_text_page_image_and_link(server: MailServer) -> None:
    result = await _sender(server).send(_delivery(), GUARD)

    assert result.kind is SendKind.ACCEPTED
    (email,) = server.emails
    assert server.recipients == [GUARD]
    assert email["Subject"] == "Stolen <cars>: AB00001 at camera 1"
    assert str(email["From"]) == "Gate <gate@platestream.example>"
    assert email["Message-ID"] == f"<{_delivery().id}@platestream.example>"
    text = email.get_body(("plain",))
    page = email.get_body(("html",))
    assert text is not None
    assert page is not None
    link = f"https://plates.example.com/recognitions/{recognition(1).id}"
    assert link in text.get_content()
    assert "Plate: AB00001" in text.get_content()
    assert link in page.get_content()
    assert "Stolen &lt;cars&gt;" in page.get_content()
    images = [part for part in email.walk() if part.get_content_type() == "image/jpeg"]
    assert [image.get_content() for image in images] == [CROP]
    assert images[0]["Content-ID"].strip("<>") in page.get_content()


async def test_a_test_says_that_it_is_one_and_leads_to_its_alert(server: MailServer) -> None:
    made = msgspec.structs.replace(_delivery(), cause=DeliveryCause.TEST)
    result = await _sender(server).send(made, GUARD)

    assert result.kind is SendKind.ACCEPTED
    (email,) = server.emails
    assert email["Subject"] == "[Test] Stolen <cars>: AB00001 at camera 1"
    text = email.get_body(("plain",))
    assert text is not None
    assert "No vehicle was detected" in text.get_content()
    assert f"https://plates.example.com/alerts/{alert(1).alert_id}" in text.get_content()


async def test_an_email_goes_without_an_image_that_cannot_be_had(server: MailServer) -> None:
    result = await _sender(server, _no_crop).send(_delivery(), GUARD)

    assert result.kind is SendKind.ACCEPTED
    (email,) = server.emails
    assert "image/jpeg" not in [part.get_content_type() for part in email.walk()]


@pytest.mark.parametrize(
    ("reply", "kind", "status"),
    [
        ("550 no such user", SendKind.REFUSED, 550),
        ("552 mailbox full", SendKind.REFUSED, 552),
        ("450 try later", SendKind.FAILED, 450),
        ("421 going down", SendKind.FAILED, 421),
    ],
)
async def test_each_refusal_has_its_outcome(
    server: MailServer, reply: str, kind: SendKind, status: int
) -> None:
    server.refuse(GUARD, reply)
    result = await _sender(server).send(_delivery(), GUARD)

    assert (result.kind, result.status) == (kind, status)
    assert server.emails == []


async def test_a_busy_rule_cannot_flood_an_address(server: MailServer) -> None:
    sender = _sender(server, messages_per_address_per_hour=2)
    server.refuse(GUARD, "450 try later")
    put_off = [(await sender.send(_delivery(number), GUARD)).kind for number in range(4)]
    server.accept(GUARD)
    results = [await sender.send(_delivery(number), GUARD) for number in range(4)]
    other = await sender.send(_delivery(), "other@example.com")

    kinds = [result.kind for result in results]
    assert put_off == [SendKind.FAILED] * 4
    assert kinds == [SendKind.ACCEPTED] * 2 + [SendKind.REFUSED] * 2
    assert other.kind is SendKind.ACCEPTED
    assert results[-1].error == "The address has reached its limit of 2 emails per hour."


async def test_starttls_needs_a_certificate_that_is_trusted(tmp_path: Path) -> None:
    certificate = self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with MailServer(context) as server:
        refused = await _sender(server, smtp_encryption="starttls").send(_delivery(), GUARD)
        plain = await _sender(server, smtp_encryption="none").send(_delivery(), GUARD)

    assert (refused.kind, plain.kind) == (SendKind.FAILED, SendKind.FAILED)
    assert server.emails == []


@pytest.mark.parametrize("encryption", ["starttls", "tls"])
def test_a_server_whose_certificate_is_trusted_gets_the_email(
    tmp_path: Path, encryption: str
) -> None:
    authority = Authority.make(tmp_path)
    # The stage uses uvloop, which has its own TLS implementation.
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    with MailServer(authority.server, is_tls_at_once=encryption == "tls") as server, runner:
        trusting = _sender(server, smtp_encryption=encryption, smtp_ca_file=str(authority.ca_file))
        taken = runner.run(trusting.send(_delivery(1), GUARD))
        strict = _sender(server, smtp_encryption=encryption)
        refused = runner.run(strict.send(_delivery(2), GUARD))

    assert (taken.kind, taken.status) == (SendKind.ACCEPTED, 250)
    assert (refused.kind, refused.status) == (SendKind.FAILED, None)
    (email,) = server.emails
    assert email["Message-ID"] == f"<{_delivery(1).id}@platestream.example>"


async def test_the_sender_logs_in(tmp_path: Path) -> None:
    authority = Authority.make(tmp_path)
    login = ("gate", "a password")
    given = {"smtp_encryption": "starttls", "smtp_ca_file": str(authority.ca_file)}
    with MailServer(authority.server, login=login) as server:
        kinds = [
            await _sender(server, smtp_user=user, smtp_password=password, **given).send(
                _delivery(number), GUARD
            )
            for number, (user, password) in enumerate([login, ("gate", "no"), ("", "")])
        ]

    # A fault on our side can be fixed before the last retry.
    assert [(one.kind, one.status) for one in kinds] == [
        (SendKind.ACCEPTED, 250),
        (SendKind.FAILED, 535),
        (SendKind.FAILED, 530),
    ]
    assert len(server.emails) == 1


async def test_no_server_is_worth_another_try(server: MailServer) -> None:
    result = await _sender(server, smtp_port=1).send(_delivery(), GUARD)

    assert result.kind is SendKind.FAILED
