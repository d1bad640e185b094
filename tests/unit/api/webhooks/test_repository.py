"""Webhooks as rows: secrets encrypted, the record by the names of columns."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest
from cryptography.fernet import Fernet

from api.db.tables import Webhook
from api.errors import ApiError
from api.webhooks.repository import WebhookRepository, WebhookRow
from api.webhooks.schemas import WebhookCreate, WebhookUpdate, webhook_body
from api.webhooks.service import WebhookStatusCache, all_fields, sent_fields, with_stored
from common.records.deliveries import WebhookStatus
from common.records.webhooks import EventName
from common.secrets import SecretBox
from tests.records import OWNER

BOX = SecretBox(Fernet.generate_key().decode())
ROWS = WebhookRepository(BOX)
WEBHOOK = UUID(int=1)
SENT: dict[str, Any] = {
    "name": "Gate",
    "url": "https://receiver.example.com/plates",
    "events": ["recognition.created", "camera.online"],
    "secret": "whsec_1",
    "headers": {"X-Tenant": "north"},
}


def _webhook() -> Webhook:
    columns = ROWS._columns(all_fields(WebhookCreate.model_validate(SENT)))
    return Webhook(
        id=WEBHOOK,
        owner_id=OWNER,
        revision=2,
        failure_count=0,
        created_at=datetime(2026, 11, 21, 8, tzinfo=UTC),
        **columns,
    )


def _row() -> WebhookRow:
    return ROWS._row(_webhook())


def test_what_may_hold_secrets_is_encrypted() -> None:
    webhook = _webhook()
    assert BOX.decrypt(webhook.url_encrypted) == SENT["url"]
    assert BOX.decrypt(webhook.secret_encrypted) == SENT["secret"]
    assert msgspec.json.decode(BOX.decrypt(webhook.headers_encrypted)) == SENT["headers"]
    assert SENT["secret"] not in repr(_row())


def test_a_webhook_becomes_its_record_by_the_names_of_its_columns() -> None:
    config = _row().config
    assert (config.webhook_id, config.owner_id, config.revision) == (WEBHOOK, OWNER, 2)
    assert config.events == (EventName.RECOGNITION_CREATED, EventName.CAMERA_ONLINE)
    assert config.created_ms == 1_795_248_000_000
    assert config.previous_secret_until_ms is None


def test_reads_show_it_in_the_clear() -> None:
    shown = webhook_body(_row(), shows_secrets=True).model_dump(mode="json", by_alias=True)
    assert shown == {**shown, **SENT, "id": str(WEBHOOK), "enabled": True}


def test_url_secret_and_values_of_headers_can_be_hidden() -> None:
    clear, hidden = (
        webhook_body(_row(), shows_secrets=shows).model_dump() for shows in (True, False)
    )
    assert clear["url"] == SENT["url"]
    url = "https://receiver.example.com"
    assert hidden == clear | {"url": url, "secret": "***", "headers": {"X-Tenant": "***"}}


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        ({}, {}),
        ({"secret": "***"}, {}),
        ({"secret": "new"}, {"secret": "new"}),
        (
            {"headers": {"x-tenant": "***", "X-A": "1"}},
            {"headers": {"x-tenant": "north", "X-A": "1"}},
        ),
        ({"headers": {}}, {"headers": {}}),
        ({"url": "https://receiver.example.com"}, {}),
        (
            {"url": "https://receiver.example.com:443/b"},
            {"url": "https://receiver.example.com:443/b"},
        ),
    ],
    ids=str,
)
def test_what_was_shown_hidden_stays_as_it_is_stored(
    sent: dict[str, Any], wanted: dict[str, Any]
) -> None:
    assert with_stored(sent, _row(), sees_secrets=False) == wanted


ELSEWHERE = {"url": "https://elsewhere.example.com/plates"}


@pytest.mark.parametrize("headers", [None, {"X-Tenant": "***"}, {"X-Tenant": "***", "X-A": "1"}])
def test_values_that_may_not_be_read_go_nowhere_else(headers: dict[str, str] | None) -> None:
    sent = ELSEWHERE if headers is None else {**ELSEWHERE, "headers": headers}

    with pytest.raises(ApiError) as refused:
        with_stored(sent, _row(), sees_secrets=False)
    assert [fault.path for fault in refused.value.fields] == ["headers"]
    assert with_stored(sent, _row(), sees_secrets=True)["url"] == ELSEWHERE["url"]


def test_an_address_elsewhere_is_taken_where_no_value_goes_with_it() -> None:
    anew = {**ELSEWHERE, "headers": {"X-Tenant": "north"}}
    without = replace(_row(), headers={})

    assert with_stored(anew, _row(), sees_secrets=False) == anew
    assert with_stored(ELSEWHERE, without, sees_secrets=False) == ELSEWHERE


def test_three_stars_for_a_header_that_is_not_stored_are_refused() -> None:
    with pytest.raises(ApiError) as refused:
        with_stored({"headers": {"X-Other": "***"}}, _row(), sees_secrets=True)
    assert [fault.path for fault in refused.value.fields] == ["headers.X-Other"]


@pytest.mark.parametrize(
    ("sent", "same"),
    [
        (SENT, True),
        ({}, True),
        ({"name": "Door"}, False),
        ({"events": ["camera.online"]}, False),
        ({"headers": {}}, False),
        ({"secret": "whsec_2"}, False),
    ],
    ids=["as read", "nothing", "name", "events", "headers", "secret"],
)
def test_a_row_has_the_fields_that_are_sent_back_as_read(sent: dict[str, Any], same: bool) -> None:
    assert _row().has(sent_fields(WebhookUpdate.model_validate(sent))) is same


def test_one_that_the_stage_switched_off_is_shown_so() -> None:
    statuses = WebhookStatusCache()
    status = WebhookStatus(
        webhook_id=WEBHOOK,
        owner_id=OWNER,
        failure_count=9,
        attempts_offset=1,
        disabled_revision=2,
        disabled_reason="gone",
    )
    statuses.post([(WEBHOOK, status)])
    shown = statuses.shown(_row())
    assert (shown.config.enabled, shown.history.disabled_reason) == (False, "gone")
    newer = msgspec.structs.replace(_row().config, revision=3)
    assert statuses.shown(replace(_row(), config=newer)).config.enabled
