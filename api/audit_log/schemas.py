"""Query parameters and response body of the audit log."""

from collections.abc import Mapping
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.alias_generators import to_camel

from api.actors import ActorKind
from api.audit.repository import AuditFilter
from api.audit.tables import AuditEntry
from api.paging.lists import NextKey
from api.recognitions.schemas import DEFAULT_LIMIT, Limit
from api.schemas import CleanText, QueryModel, ResponseModel, Timestamp, is_absent
from api.validation.fields import QueryInstant, field_check, from_unix_ms_if_any, uuid_text
from common.plates.normalise import typed_plate

_MAX_ACTOR_CHARACTERS = 300
_MAX_PLATE_CHARACTERS = 50

_FIELDS: Final[Mapping[str, str]] = {
    "stream_url_shown": "rtspUrl",
    "stream_url_encrypted": "rtspUrl",
    "min_plate_width_px": "minPlateWidth",
    "url_encrypted": "url",
    "secret_encrypted": "secret",
    "notification_secret_encrypted": "notificationSecret",
    "headers_encrypted": "headers",
    "notifications_encrypted": "notifications",
    "password_hash": "password",
    "key_hash": "key",
    "delta": "credits",
}
"""JSON field names by column, for fields whose name is not the column name in camel case."""


class AuditQuery(QueryModel):
    """The query parameters of the audit log."""

    from_ms: QueryInstant | None = Field(default=None, alias="from", description="Inclusive start.")
    to_ms: QueryInstant | None = Field(default=None, alias="to", description="Exclusive end.")
    action: Annotated[str, Field(pattern=r"^[a-z]+(\.[a-z_]+)?$", max_length=60)] | None = Field(
        default=None, description="Action, or its first part: `camera` for all camera actions."
    )
    actor: Annotated[CleanText, Field(max_length=_MAX_ACTOR_CHARACTERS)] | None = Field(
        default=None, description="ID, email address or API key name of the actor."
    )
    subject: Annotated[UUID, BeforeValidator(uuid_text)] | None = Field(
        default=None, description="ID of the resource acted on."
    )
    plate: (
        Annotated[
            str, Field(max_length=_MAX_PLATE_CHARACTERS), AfterValidator(field_check(typed_plate))
        ]
        | None
    ) = Field(default=None, description="A complete plate, in any spelling.")
    limit: Limit = Field(default=DEFAULT_LIMIT, description="Maximum number of entries to return.")
    last_key: str | None = Field(default=None, alias="lastKey", description="Previous `nextKey`.")

    def wanted(self, owner_id: UUID) -> AuditFilter:
        """Return the filter for an account's entries."""
        return AuditFilter(
            owner_id,
            from_unix_ms_if_any(self.from_ms),
            from_unix_ms_if_any(self.to_ms),
            self.action,
            self.actor or None,
            self.subject,
            self.plate or None,
        )


class AuditActor(ResponseModel):
    """The actor, as named at the time of the action."""

    kind: ActorKind = Field(
        description="Actor type. `command`: a server administrator, on the command line. "
        "`database`: a direct change in the database."
    )
    id: UUID | None = Field(exclude_if=is_absent, description="ID of the person or API key.")
    name: str | None = Field(
        exclude_if=is_absent,
        description="Email address of the person, or name of the API key.",
        examples=["ana@example.com"],
    )
    prefix: str | None = Field(
        exclude_if=is_absent, description="First characters of the key.", examples=["pk_4Qz81xYa"]
    )


class AuditSubject(ResponseModel):
    """The resource acted on, as named at the time of the action."""

    kind: str = Field(description="Resource type: first part of the action.", examples=["camera"])
    id: UUID | None = Field(exclude_if=is_absent, description="ID of the resource.")
    name: str | None = Field(exclude_if=is_absent, description="Resource name.", examples=["Gate"])


class AuditChange(ResponseModel):
    """A changed field. Secrets, very long values and lists of plates are omitted."""

    field: str = Field(description="Name of the changed field.", examples=["name"])
    before: Any = Field(
        default=None, exclude_if=is_absent, description="The old value.", examples=["Gate"]
    )
    after: Any = Field(
        default=None, exclude_if=is_absent, description="The new value.", examples=["Gate 2"]
    )
    added: int | None = Field(
        default=None,
        ge=0,
        exclude_if=is_absent,
        description="Number of plates added to a list.",
        examples=[2],
    )
    removed: int | None = Field(
        default=None,
        ge=0,
        exclude_if=is_absent,
        description="Number of plates removed from a list.",
        examples=[1],
    )


class AuditEntryBody(ResponseModel):
    """An audit log entry."""

    id: UUID = Field(description="ID of the entry.")
    timestamp: Timestamp = Field(description="Time of the action (UTC).")
    action: str = Field(description="Action performed.", examples=["camera.updated"])
    actor: AuditActor = Field(description="Who performed the action.")
    subject: AuditSubject | None = Field(exclude_if=is_absent, description="The resource acted on.")
    changes: list[AuditChange] = Field(description="Fields that were changed.")
    parameters: dict[str, Any] = Field(
        description="Parameters of the request, or result counts.", examples=[{"plate": "A****D"}]
    )
    address: str | None = Field(
        exclude_if=is_absent, description="IP address of the caller.", examples=["192.0.2.7"]
    )
    request_id: str | None = Field(
        exclude_if=is_absent,
        description="Request ID, as in the `X-Request-Id` header.",
        examples=["0b1f7c5e9a9d4c7f8f1f2a6d5c3b4e21"],
    )


class AuditEntryList(ResponseModel):
    """A page of the audit log, newest entry first."""

    entries: list[AuditEntryBody] = Field(description="Up to `limit` entries.")
    next_key: NextKey


def entry_body(entry: AuditEntry) -> AuditEntryBody:
    """Return the response body of an entry."""
    subject = None
    if entry.subject_kind is not None:
        subject = AuditSubject(
            kind=entry.subject_kind, id=entry.subject_id, name=entry.subject_name
        )
    return AuditEntryBody(
        id=entry.id,
        timestamp=entry.at,
        action=entry.action,
        actor=AuditActor(
            kind=ActorKind(entry.actor_kind),
            id=entry.actor_id,
            name=entry.actor_name,
            prefix=entry.actor_prefix,
        ),
        subject=subject,
        changes=field_changes(entry.changes),
        parameters=entry.parameters,
        address=entry.address,
        request_id=entry.request_id,
    )


def field_changes(columns: Mapping[str, Mapping[str, Any]]) -> list[AuditChange]:
    """Return the changed fields, sorted by JSON name. Several columns can belong to one field."""
    by_field: dict[str, dict[str, Any]] = {}
    for column, values in sorted(columns.items()):
        by_field.setdefault(_FIELDS.get(column, to_camel(column)), {}).update(values)
    return [AuditChange(field=name, **values) for name, values in sorted(by_field.items())]
