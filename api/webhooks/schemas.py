"""Request and response bodies for webhooks."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from api.paging.lists import next_key_field
from api.schemas import (
    JsonBoolean,
    NameText,
    OutboundAddress,
    RequestModel,
    ResponseModel,
    Timestamp,
    few_names,
    without_repeats,
)
from api.signing_secrets import NOTHING_HIDDEN, NewSecret, Secret
from api.validation.fields import field_check, future
from api.webhooks.repository import WebhookRow
from common.records.webhooks import MAX_HEADERS, EventName, check_header_name, check_header_value
from common.urls.outbound import scheme_and_host
from common.urls.streams import MASK


def _named_once(headers: dict[str, str]) -> dict[str, str]:
    if len({name.lower() for name in headers}) != len(headers):
        raise ValueError("must not contain the same header twice")
    return headers


def _none_hidden(headers: dict[str, str]) -> dict[str, str]:
    if MASK in headers.values():
        raise ValueError(NOTHING_HIDDEN)
    return headers


SubscribedEvent = Literal[
    EventName.RECOGNITION_CREATED,
    EventName.ALERT_TRIGGERED,
    EventName.ALERT_CONFIRMED,
    EventName.CAMERA_ONLINE,
    EventName.CAMERA_OFFLINE,
]
"""Events to subscribe to. ``alert.triggered`` also subscribes to ``alert.corrected``."""


Name = Annotated[NameText, Field(min_length=1, max_length=200, examples=["Gate controller"])]
Events = Annotated[
    list[SubscribedEvent],
    Field(min_length=1, max_length=100, examples=[["recognition.created", "alert.triggered"]]),
    AfterValidator(without_repeats),
]
Headers = Annotated[
    dict[
        Annotated[str, AfterValidator(field_check(check_header_name))],
        Annotated[str, AfterValidator(field_check(check_header_value))],
    ],
    Field(
        max_length=MAX_HEADERS,
        description="Custom headers sent with each delivery. Headers set by the service "
        "cannot be overridden.",
        examples=[{"X-Tenant": "north"}],
    ),
    AfterValidator(_named_once),
    BeforeValidator(few_names),
]

NewHeaders = Annotated[Headers, AfterValidator(_none_hidden)]

_SHOWN_ONLY = frozenset(
    {
        "id",
        "failureCount",
        "failedAttempts",
        "lastDeliveryAt",
        "lastDeliveryStatus",
        "disabledReason",
        "previousSecretUntil",
        "createdAt",
    }
)


class WebhookCreate(RequestModel):
    """A webhook to create."""

    shown_only = _SHOWN_ONLY

    name: Name = Field(description="Name of the webhook.")
    url: OutboundAddress
    events: Events = Field(description="Events to subscribe to.")
    secret: NewSecret | None = Field(default=None, description="Signing secret; null: generated.")
    enabled: JsonBoolean = Field(default=True, description="Whether the webhook is enabled.")
    headers: NewHeaders = Field(default_factory=dict)


class WebhookUpdate(RequestModel):
    """Fields of a webhook to update. Omitted fields keep their values.

    Send `***` to keep the stored secret, or the stored value of a header.
    """

    shown_only = _SHOWN_ONLY

    name: Name = Field(default="", description="Name of the webhook.")
    url: OutboundAddress = ""
    events: Events = Field(default_factory=list, description="Events to subscribe to.")
    secret: Secret = ""
    enabled: JsonBoolean = Field(default=True, description="Whether the webhook is enabled.")
    headers: Headers = Field(default_factory=dict)


class WebhookBody(ResponseModel):
    """A webhook."""

    id: str = Field(json_schema_extra={"format": "uuid"}, description="ID of the webhook.")
    name: str = Field(description="Name of the webhook.", examples=["Gate north"])
    url: str = Field(
        description="URL to which events are sent; only scheme and host without the scope "
        "`webhooks:read`.",
        examples=["https://receiver.example.com/plates"],
    )
    secret: str = Field(
        description=f"Signing secret; `{MASK}` if the caller lacks the scope `webhooks:read`.",
        examples=["whsec_3X1yq0h3PBl1c2r7m4iT8Q0wq6b8v1u7nZ3m9k2s5dE="],
    )
    enabled: bool = Field(description="Whether the webhook is enabled.")
    events: list[EventName] = Field(description="Subscribed events.")
    headers: dict[str, str] = Field(
        description=f"Custom headers. Values are `{MASK}` if the caller lacks the scope "
        "`webhooks:read`.",
        examples=[{"X-Tenant": "north"}],
    )
    failure_count: int = Field(
        description="Failed deliveries since the last success.", ge=0, examples=[0]
    )
    failed_attempts: int = Field(
        description="Failed attempts since the last success.", ge=0, examples=[0]
    )
    last_delivery_at: Timestamp | None = Field(description="Last delivery (UTC); null: never.")
    last_delivery_status: int | None = Field(
        ge=100,
        le=599,
        description="HTTP status code of the last attempt; null if there was no response, or "
        "no attempt yet.",
        examples=[200],
    )
    disabled_reason: str | None = Field(
        description="Why the service disabled the webhook; null if it did not.",
        examples=["20 deliveries in a row failed."],
    )
    previous_secret_until: Timestamp | None = Field(
        description="Until this time (UTC), the previous secret also signs."
    )
    created_at: Timestamp = Field(description="Creation time (UTC).")


class WebhookAnswer(ResponseModel):
    """One webhook."""

    webhook: WebhookBody = Field(description="The webhook.")


class WebhookList(ResponseModel):
    """The account's webhooks, newest first."""

    webhooks: list[WebhookBody] = Field(description="Webhooks, newest first.")
    next_key: str | None = next_key_field()


def webhook_body(row: WebhookRow, *, shows_secrets: bool) -> WebhookBody:
    """Return the JSON form of a webhook, with URL, secret and headers if ``shows_secrets``."""
    config, history = row.config, row.history
    headers = dict(row.headers) if shows_secrets else dict.fromkeys(row.headers, MASK)
    return WebhookBody(
        id=str(row.id),
        name=config.name,
        url=row.url if shows_secrets else scheme_and_host(row.url),
        secret=row.secret if shows_secrets else MASK,
        enabled=config.enabled,
        events=list(config.events),
        headers=headers,
        failure_count=history.failure_count,
        failed_attempts=history.failed_attempts,
        last_delivery_at=history.last_delivery_at,
        last_delivery_status=history.last_delivery_status,
        disabled_reason=history.disabled_reason,
        previous_secret_until=future(row.previous_secret_until),
        created_at=row.created_at,
    )
