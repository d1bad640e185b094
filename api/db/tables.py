"""Defines the service's PostgreSQL tables as SQLAlchemy 2 mappings.

The migrations in ``api/db/migrations`` create the tables. A test checks that the two match.
"""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID, uuid4

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    LargeBinary,
    MetaData,
    Select,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    """Base class of all mappings. Constraint names follow one convention."""

    metadata = MetaData(naming_convention=_NAMES)
    type_annotation_map = {datetime: DateTime(timezone=True), str: Text(), int: BigInteger()}


class OwnedRow(Base):
    """A resource of an account."""

    __abstract__ = True

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    owner_id: Mapped[UUID] = mapped_column(ForeignKey("owners.id", ondelete="CASCADE"))


class _Published(OwnedRow):
    """A resource that is published on a topic. ``revision`` grows with each change."""

    __abstract__ = True

    name: Mapped[str]
    enabled: Mapped[bool] = mapped_column(server_default=text("true"))
    revision: Mapped[int] = mapped_column(server_default=text("1"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())


_OwnerKey = Annotated[
    UUID, mapped_column(ForeignKey("owners.id", ondelete="CASCADE"), primary_key=True)
]


class Owner(Base):
    """An account, to which all other resources belong. ``email`` (lower case) is unique.

    ``limits`` contains the account's own limits by name. All other limits come from the settings.
    """

    __tablename__ = "owners"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    email: Mapped[str] = mapped_column(unique=True)
    timezone: Mapped[str] = mapped_column(server_default="UTC")
    notification_secret_encrypted: Mapped[str | None]
    previous_notification_secret_encrypted: Mapped[str | None]
    previous_notification_secret_until: Mapped[datetime | None]
    limits: Mapped[dict[str, int]] = mapped_column(JSONB, server_default=text("'{}'::jsonb"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class ApiKey(Base):
    """An API key of an account. Only the SHA-256 of the key is stored.

    ``ancestors`` are key IDs from the direct parent upwards, including those of revoked keys.
    """

    __tablename__ = "api_keys"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    owner_id: Mapped[UUID] = mapped_column(ForeignKey("owners.id", ondelete="CASCADE"), index=True)
    name: Mapped[str]
    key_hash: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    prefix: Mapped[str]
    scopes: Mapped[list[str]] = mapped_column(ARRAY(Text))
    enabled: Mapped[bool] = mapped_column(server_default=text("true"))
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    ancestors: Mapped[list[UUID]] = mapped_column(ARRAY(Uuid), server_default=text("'{}'::uuid[]"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Camera(_Published):
    """A camera, which is hidden until an ingest worker has accepted it (``confirmed``)."""

    __tablename__ = "cameras"
    __table_args__ = (
        UniqueConstraint("owner_id", "identifier"),
        CheckConstraint("revision >= 1", name="revision_positive"),
        Index(
            "ix_cameras_unconfirmed_created_at",
            "created_at",
            postgresql_where=text("NOT confirmed"),
        ),
    )

    identifier: Mapped[str]
    identifier_derived: Mapped[bool]
    location: Mapped[str] = mapped_column(server_default="")
    stream_url_encrypted: Mapped[str]
    stream_url_shown: Mapped[str]
    sample_fps: Mapped[float | None]
    min_plate_width_px: Mapped[int] = mapped_column(server_default=text("0"))
    zones: Mapped[list[Any]] = mapped_column(JSONB, server_default=text("'[]'::jsonb"))
    timezone: Mapped[str | None]
    confirmed: Mapped[bool] = mapped_column(server_default=text("false"))
    subscription_credits: Mapped[int] = mapped_column(server_default=text("0"))
    paid_until: Mapped[datetime | None]


class CreditAccount(Base):
    """An account's balance (the sum of the ledger), and the credits reserved by running calls."""

    __tablename__ = "credit_accounts"
    __table_args__ = (
        CheckConstraint("reserved >= 0", name="reserved_not_negative"),
        CheckConstraint("balance >= reserved", name="balance_covers_reserved"),
    )

    owner_id: Mapped[_OwnerKey]
    balance: Mapped[int] = mapped_column(server_default=text("0"))
    reserved: Mapped[int] = mapped_column(server_default=text("0"))


class CreditEntry(Base):
    """An entry of the credit ledger. Entries are never changed or deleted."""

    __tablename__ = "credit_entries"
    __table_args__ = (Index("ix_credit_entries_owner_id_id", "owner_id", "id"),)

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    owner_id: Mapped[UUID] = mapped_column(ForeignKey("owners.id", ondelete="CASCADE"))
    delta: Mapped[int]
    balance_after: Mapped[int]
    kind: Mapped[str]
    reason: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class CreditReservation(Base):
    """Credits reserved for a running call. A sweep releases the credits if the call crashed."""

    __tablename__ = "credit_reservations"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    owner_id: Mapped[UUID] = mapped_column(ForeignKey("owners.id", ondelete="CASCADE"), index=True)
    amount: Mapped[int]
    expires_at: Mapped[datetime] = mapped_column(index=True)


class IdempotencyKey(Base):
    """A call with an ``Idempotency-Key``. ``answer`` is null until the call has finished."""

    __tablename__ = "idempotency_keys"

    owner_id: Mapped[_OwnerKey]
    key: Mapped[str] = mapped_column(primary_key=True)
    fingerprint: Mapped[bytes] = mapped_column(LargeBinary)
    attempt: Mapped[UUID]
    answer: Mapped[bytes | None] = mapped_column(LargeBinary)
    expires_at: Mapped[datetime] = mapped_column(index=True)


class Webhook(_Published):
    """A webhook of an account. Columns that can contain secrets are encrypted."""

    __tablename__ = "webhooks"
    __table_args__ = (
        CheckConstraint("revision >= 1", name="revision_positive"),
        Index("ix_webhooks_owner_id_created_at", "owner_id", "created_at"),
    )

    url_encrypted: Mapped[str]
    secret_encrypted: Mapped[str]
    headers_encrypted: Mapped[str]
    events: Mapped[list[str]] = mapped_column(ARRAY(Text))
    failure_count: Mapped[int] = mapped_column(server_default=text("0"))
    last_delivery_at: Mapped[datetime | None]
    last_delivery_status: Mapped[int | None]
    disabled_reason: Mapped[str | None]
    previous_secret_encrypted: Mapped[str | None]
    previous_secret_until: Mapped[datetime | None]


class Alert(_Published):
    """An alert of an account. If ``timezone`` is null, the account's time zone applies.

    ``rule_cost`` is the cost of the plate list (:func:`common.alerting.rule.rule_cost`).
    """

    __tablename__ = "alerts"
    __table_args__ = (
        CheckConstraint("revision >= 1", name="revision_positive"),
        Index("ix_alerts_owner_id_created_at", "owner_id", "created_at"),
    )

    description: Mapped[str] = mapped_column(server_default="")
    plate_match_mode: Mapped[str]
    plates: Mapped[list[str]] = mapped_column(ARRAY(Text))
    plate_names: Mapped[dict[str, str]] = mapped_column(JSONB, server_default=text("'{}'"))
    camera_scope: Mapped[str]
    camera_ids: Mapped[list[UUID]] = mapped_column(ARRAY(Uuid))
    schedule_enabled: Mapped[bool]
    schedule: Mapped[dict[str, Any]] = mapped_column(JSONB)
    timezone: Mapped[str | None]
    min_confidence: Mapped[float]
    cooldown_minutes: Mapped[float]
    cooldown_scope: Mapped[str]
    match_tolerance: Mapped[int]
    early: Mapped[bool] = mapped_column(server_default=text("false"))
    rule_cost: Mapped[int] = mapped_column(server_default=text("0"))
    notifications_encrypted: Mapped[str]
    trigger_count: Mapped[int] = mapped_column(server_default=text("0"))
    last_triggered_at: Mapped[datetime | None]


class CorrectionEntry(Base):
    """A person's correction of a recognition. ``plate`` is null if the image shows no plate.

    The reading, capture time (Unix ms, UTC) and S3 keys are those at the time of the correction.
    """

    __tablename__ = "corrections"
    __table_args__ = (Index("ix_corrections_place", "owner_id", "captured_ms", "recognition_id"),)

    owner_id: Mapped[_OwnerKey]
    recognition_id: Mapped[UUID] = mapped_column(primary_key=True)
    camera_id: Mapped[UUID]
    captured_ms: Mapped[int]
    reading: Mapped[str]
    photo_key: Mapped[str | None]
    crop_key: Mapped[str | None]
    plate: Mapped[str | None]
    region: Mapped[str | None]
    corrected_by: Mapped[str]
    corrected_at: Mapped[datetime] = mapped_column(server_default=func.now())


class ErasureJob(OwnedRow):
    """The erasure of a plate. After the erasure, only ``plate_masked`` remains of the plate.

    A process that runs the job has a lease until ``leased_until``. ``before_ms`` is Unix ms, UTC.
    """

    __tablename__ = "erasure_jobs"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'running', 'done')", name="state_known"),
        CheckConstraint("(plate IS NULL) = (state = 'done')", name="plate_forgotten"),
        Index(
            "ix_erasure_jobs_open",
            "owner_id",
            "requested_at",
            postgresql_where=text("state <> 'done'"),
        ),
        Index("ix_erasure_jobs_owner_id", "owner_id"),
    )

    plate: Mapped[str | None]
    plate_masked: Mapped[str]
    before_ms: Mapped[int]
    state: Mapped[str] = mapped_column(server_default="waiting")
    requested_by: Mapped[str]
    requested_at: Mapped[datetime] = mapped_column(server_default=func.now())
    leased_until: Mapped[datetime | None]
    attempts: Mapped[int] = mapped_column(server_default=text("0"))
    error: Mapped[str | None]
    counts: Mapped[dict[str, int] | None] = mapped_column(JSONB)
    finished_at: Mapped[datetime | None]

    @property
    def created_at(self) -> datetime:
        """Time of the request, by which lists are sorted."""
        return self.requested_at


class ConfigOutbox(Base):
    """A record that is waiting for the relay. ``value`` is null for a tombstone.

    A record with an ``error`` cannot be published and is skipped. Replays follow all other records,
    ordered by ``replay_position``, which counts per account, so that accounts take turns.
    ``owner_id``, null for tombstones, is not a foreign key, because records outlive accounts.
    """

    __tablename__ = "config_outbox"
    __table_args__ = (
        Index(
            "ix_config_outbox_turn",
            "replay_position",
            "id",
            postgresql_where=text("error IS NULL"),
        ),
        Index(
            "ix_config_outbox_owner_id", "owner_id", postgresql_where=text("owner_id IS NOT NULL")
        ),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    topic: Mapped[str]
    key: Mapped[str]
    value: Mapped[bytes | None] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    error: Mapped[str | None]
    owner_id: Mapped[UUID | None]
    replay_id: Mapped[UUID | None]
    replay_position: Mapped[int] = mapped_column(server_default=text("'-1'::integer"))


def newest_first(table: type[Any], owner_id: UUID | None) -> Select[Any]:
    """Select an account's rows, or the rows of all accounts if None, newest first."""
    rows = select(table).order_by(table.created_at.desc(), table.id)
    return rows if owner_id is None else rows.where(table.owner_id == owner_id)
