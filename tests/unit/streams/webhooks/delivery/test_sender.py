"""The request of an attempt: notification secrets of the account, and redirects."""

from collections.abc import Mapping

import msgspec
import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from common.records.alerts import TriggerPhase
from common.records.deliveries import AttemptOutcome, Delivery, DeliveryCause, UrlTarget
from common.records.owners import OwnerConfig
from common.records.payloads import notifications_of
from common.records.webhooks import PREVIOUS_SIGNATURE_HEADER
from common.timestamps import now_ms
from streams.runtime.alert_cache import AlertCache
from streams.webhooks.delivery.http_sender import SignedRequest
from streams.webhooks.delivery.schedule import AttemptDecision, SendKind, SendResult, attempt_record
from streams.webhooks.events.subscription_cache import SubscriptionCache
from tests.records import OWNER
from tests.unit.streams.webhooks.builders import (
    BOX,
    WEBHOOK,
    Transport,
    delivery,
    delivery_sender,
    trigger_deliveries,
    trigger_in_phase,
    webhook,
)

PLANNED, CURRENT, PREVIOUS = "the planned one", "the current one", "the previous one"


def _planned() -> Delivery:
    """Return the delivery of an alert to its URL, planned before a rotation of the secret."""
    trigger = trigger_in_phase(TriggerPhase.FINAL)
    rule = msgspec.structs.replace(
        trigger.alert, notification_secret_encrypted=BOX.encrypt(PLANNED)
    )
    made = trigger_deliveries(msgspec.structs.replace(trigger, alert=rule), [])
    return next(one for one in made if isinstance(one.target, UrlTarget))


def _signers(request: SignedRequest) -> set[str]:
    return {secret for secret in (PLANNED, CURRENT, PREVIOUS) if _is_signed_with(secret, request)}


def _is_signed_with(secret: str, request: SignedRequest) -> bool:
    headers: Mapping[str, str] = request.headers
    try:
        Webhook(secret.encode()).verify(request.body, dict(headers))
    except WebhookVerificationError:
        return False
    return True


@pytest.mark.parametrize(
    ("owner", "signers"),
    [
        ({}, {CURRENT}),
        ({"until": 60_000}, {CURRENT, PREVIOUS}),
        ({"until": -1}, {CURRENT}),
        (None, {PLANNED}),
    ],
    ids=["rotated at once", "during the overlap", "after it", "not known yet"],
)
async def test_a_notification_is_signed_with_the_secrets_of_now(
    owner: dict[str, int] | None, signers: set[str]
) -> None:
    subscriptions, transport = SubscriptionCache(BOX), Transport()
    if owner is not None:
        until = owner.get("until")
        config = OwnerConfig(
            owner_id=OWNER,
            limits={},
            notification_secret_encrypted=BOX.encrypt(CURRENT),
            previous_notification_secret_encrypted=None if until is None else BOX.encrypt(PREVIOUS),
            previous_notification_secret_until_ms=None if until is None else now_ms() + until,
        )
        subscriptions.apply_owners([(OWNER, config)])
    await delivery_sender(transport, subscriptions).send(_planned(), 2)

    (request,) = transport.requests
    assert _signers(request) == signers
    assert (PREVIOUS_SIGNATURE_HEADER in request.headers) is (len(signers) > 1)


@pytest.mark.parametrize(
    ("is_kept", "cause", "kind"),
    [
        (True, DeliveryCause.EVENT, SendKind.ACCEPTED),
        (False, DeliveryCause.EVENT, SendKind.CANCELLED),
        (False, DeliveryCause.REDELIVERY, SendKind.ACCEPTED),
    ],
)
async def test_a_delivery_to_a_removed_recipient_is_cancelled(
    is_kept: bool, cause: DeliveryCause, kind: SendKind
) -> None:
    planned, transport, alerts = _planned(), Transport(), AlertCache()
    assert planned.trigger is not None
    before = planned.trigger.alert
    kept = msgspec.json.encode(notifications_of(before, BOX) if is_kept else ()).decode()
    now = msgspec.structs.replace(
        before, revision=before.revision + 1, notifications_encrypted=BOX.encrypt(kept)
    )
    alerts.apply([(now.alert_id, now)])
    sent = msgspec.structs.replace(planned, cause=cause)
    result = await delivery_sender(transport, SubscriptionCache(BOX), alerts).send(sent, 2)

    assert result.kind is kind
    assert len(transport.requests) == (kind is SendKind.ACCEPTED)


@pytest.mark.parametrize(
    ("location", "leads"),
    [("https://new.example/a?b", " to https://new.example"), ("gopher://a/", "")],
)
async def test_a_redirect_says_where_it_leads(location: str, leads: str) -> None:
    subscriptions = SubscriptionCache(BOX)
    subscriptions.apply_webhooks([(WEBHOOK, webhook())])
    answer = SendResult(kind=SendKind.REFUSED, status=302, error="-", location=location)
    result = await delivery_sender(Transport(answer), subscriptions).send(delivery(1), 1)

    assert result.error == f"Received status 302, a redirect{leads}."


async def test_a_result_names_the_revision_that_it_was_sent_by() -> None:
    subscriptions = SubscriptionCache(BOX)
    subscriptions.apply_webhooks([(WEBHOOK, msgspec.structs.replace(webhook(), revision=7))])
    answer = SendResult(kind=SendKind.REFUSED, status=410)
    result = await delivery_sender(Transport(answer), subscriptions).send(delivery(1), 1)

    assert result.webhook_revision == 7
    attempt = attempt_record(delivery(1), 1, result, AttemptDecision(AttemptOutcome.DEAD), 1, 0.1)
    assert attempt.webhook_revision == 7
