"""Defines the audit log's table. Triggers on other tables write entries. Entries are immutable."""

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Index, func, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from api.db.tables import Base

_EMPTY = text("'{}'::jsonb")


class AuditEntry(Base):
    """An action in an account. Names are those at the time of the action.

    ``changes`` contains old and new values by column; ``parameters`` contains parameters of the
    request and hashes of plates. Plates are masked in both. ``owner_id`` is not a foreign key.
    """

    __tablename__ = "audit_entries"
    __table_args__ = (
        Index("ix_audit_entries_owner_id_at_id", "owner_id", "at", "id"),
        # Each filter has an index. Without it, a search for a rare value would read all entries.
        Index(
            "ix_audit_entries_owner_id_action_at",
            *("owner_id", "action", "at"),
            postgresql_ops={"action": "text_pattern_ops"},
        ),
        Index("ix_audit_entries_owner_id_actor_at", "owner_id", "actor_id", "at"),
        Index(
            "ix_audit_entries_owner_id_actor_name_at",
            *("owner_id", text("lower(actor_name)"), "at"),
        ),
        Index(
            "ix_audit_entries_owner_id_subject_at",
            *("owner_id", "subject_id", "at"),
            postgresql_where=text("subject_id IS NOT NULL"),
        ),
        Index(
            "ix_audit_entries_plate_hashes",
            text("(parameters -> 'plateHashes')"),
            postgresql_using="gin",
        ),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    owner_id: Mapped[UUID]
    at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp(), index=True)
    action: Mapped[str]
    actor_kind: Mapped[str]
    actor_id: Mapped[UUID | None]
    actor_name: Mapped[str | None]
    actor_prefix: Mapped[str | None]
    subject_kind: Mapped[str | None]
    subject_id: Mapped[UUID | None]
    subject_name: Mapped[str | None]
    changes: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default=_EMPTY)
    parameters: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default=_EMPTY)
    address: Mapped[str | None]
    request_id: Mapped[str | None]
