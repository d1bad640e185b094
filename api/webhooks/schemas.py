"""JSON of the webhooks resource."""

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
from api.validation.fields import future
from api.webhooks.repository import WebhookRow
from common.errors import InvalidInputError
from common.records.webhooks import MAX_HEADERS, EventName, check_header_name, check_header_value
from common.urls.outbound import scheme_and_host
from common.urls.streams import MASK


def _header_name(name: str) -> str:
    try:
        check_header_name(name)
    except InvalidInputError as error:
        raise ValueError(str(error)) from error
    return name


def _header_value(value: str) -> str:
    try:
        check_header_value(value)
    except InvalidInputError as error:
        raise ValueError(str(error)) from error
    return value


def _named_once(headers: dict[str, str]) -> dict[str, str]:
    if len({name.lower() for name in headers}) != len(headers):
        raise ValueError("may not name a header twice")
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
"""An event to subscribe to; alert.corrected comes with alert.triggered."""


Name = Annotated[NameText, Field(min_length=1, max_length=200, examples=["Gate controller"])]
Events = Annotated[
    list[SubscribedEvent],
    Field(min_length=1, max_length=100, examples=[["recognition.created", "alert.triggered"]]),
    AfterValidator(without_repeats),
]
Headers = Annotated[
    dict[
        Annotated[str, AfterValidator(_header_name)], Annotated[str, AfterValidator(_header_value)]
    ],
    Field(
        max_length=MAX_HEADERS,
        description="Headers sent with each delivery; they replace none of the service's own.",
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
    """A webhook to register."""

    shown_only = _SHOWN_ONLY

    name: Name = Field(description="Its name.")
    url: OutboundAddress
    events: Events = Field(description="The events to send.")
    secret: NewSecret | None = Field(
        default=None, description="Key of the signatures; null: the service makes one."
    )
    enabled: JsonBoolean = Field(default=True, description="False: switched off.")
    headers: NewHeaders = Field(default_factory=dict)


class WebhookUpdate(RequestModel):
    """The fields of a webhook to change; those left out stay.

    ``***`` stands for the secret, or the value of a header, that is stored.
    """

    shown_only = _SHOWN_ONLY

    name: Name = Field(default="", description="Its name.")
    url: OutboundAddress = ""
    events: Events = Field(default_factory=list, description="The events to send.")
    secret: Secret = ""
    enabled: JsonBoolean = Field(default=True, description="False: switched off.")
    headers: Headers = Field(default_factory=dict)


class WebhookBody(ResponseModel):
    """A webhook as reads show it."""

    id: str = Field(json_schema_extra={"format": "uuid"}, description="Id of the webhook.")
    name: str = Field(description="Its name.", examples=["Gate north"])
    url: str = Field(
        description="Where events are sent; scheme and host alone without webhooks:read.",
        examples=["https://receiver.example.com/plates"],
    )
    secret: str = Field(
        description=f"{MASK} where the key may not read webhooks.",
        examples=["whsec_3X1yq0h3PBl1c2r7m4iT8Q0wq6b8v1u7nZ3m9k2s5dE="],
    )
    enabled: bool = Field(description="False: switched off.")
    events: list[EventName] = Field(description="The events that it gets.")
    headers: dict[str, str] = Field(
        description=f"Each value is {MASK} where the key may not read webhooks.",
        examples=[{"X-Tenant": "north"}],
    )
    failure_count: int = Field(
        description="Deliveries given up since the last success.", ge=0, examples=[0]
    )
    failed_attempts: int = Field(
        description="Failed tries since the last success.", ge=0, examples=[0]
    )
    last_delivery_at: Timestamp | None = Field(
        description="When something was last sent; UTC. Null: never."
    )
    last_delivery_status: int | None = Field(
        ge=100,
        le=599,
        description="HTTP status of the last attempt; null: no answer, or none yet.",
        examples=[200],
    )
    disabled_reason: str | None = Field(
        description="Why the service switched the webhook off; null where it did not.",
        examples=["20 deliveries in a row failed."],
    )
    previous_secret_until: Timestamp | None = Field(
        description="Until then the secret before the last rotation signs as well."
    )
    created_at: Timestamp = Field(description="When it was made; UTC.")


class WebhookAnswer(ResponseModel):
    """One webhook."""

    webhook: WebhookBody = Field(description="The webhook.")


class WebhookList(ResponseModel):
    """The caller's webhooks, newest first."""

    webhooks: list[WebhookBody] = Field(description="The webhooks, newest first.")
    next_key: str | None = next_key_field()


def webhook_body(row: WebhookRow, *, shows_secrets: bool) -> WebhookBody:
    """Return the JSON form of a webhook; its URL, secret and values of headers whole or hidden."""
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
