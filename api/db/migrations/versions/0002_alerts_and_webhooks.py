"""Alerts, webhooks, and the secret that signs an alert's own notifications.

Revision: 0002, after 0001. Blocking: no.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables and the column."""
    op.add_column("owners", sa.Column("notification_secret_encrypted", sa.Text(), nullable=True))
    op.create_table(
        "webhooks",
        *_identity(),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("url_encrypted", sa.Text(), nullable=False),
        sa.Column("secret_encrypted", sa.Text(), nullable=False),
        sa.Column("headers_encrypted", sa.Text(), nullable=False),
        sa.Column("events", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("failure_count", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_delivery_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_delivery_status", sa.BigInteger(), nullable=True),
        sa.Column("disabled_reason", sa.Text(), nullable=True),
        *_history(),
        *_constraints("webhooks"),
    )
    op.create_index("ix_webhooks_owner_id_created_at", "webhooks", ["owner_id", "created_at"])
    op.create_table(
        "alerts",
        *_identity(),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("plate_match_mode", sa.Text(), nullable=False),
        sa.Column("plates", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("camera_scope", sa.Text(), nullable=False),
        sa.Column("camera_ids", postgresql.ARRAY(sa.Uuid()), nullable=False),
        sa.Column("schedule_enabled", sa.Boolean(), nullable=False),
        sa.Column("schedule", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("timezone", sa.Text(), nullable=True),
        sa.Column("min_confidence", sa.Double(), nullable=False),
        sa.Column("cooldown_minutes", sa.Double(), nullable=False),
        sa.Column("cooldown_scope", sa.Text(), nullable=False),
        sa.Column("match_tolerance", sa.BigInteger(), nullable=False),
        sa.Column("notifications_encrypted", sa.Text(), nullable=False),
        sa.Column("trigger_count", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_triggered_at", sa.DateTime(timezone=True), nullable=True),
        *_history(),
        *_constraints("alerts"),
    )
    op.create_index("ix_alerts_owner_id_created_at", "alerts", ["owner_id", "created_at"])


def downgrade() -> None:
    """Drop them."""
    op.drop_index("ix_alerts_owner_id_created_at", table_name="alerts")
    op.drop_table("alerts")
    op.drop_index("ix_webhooks_owner_id_created_at", table_name="webhooks")
    op.drop_table("webhooks")
    op.drop_column("owners", "notification_secret_encrypted")


def _identity() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=False),
    )


def _history() -> tuple[sa.Column[Any], ...]:
    moments = tuple(
        sa.Column(name, sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False)
        for name in ("created_at", "updated_at")
    )
    counter = sa.Column("revision", sa.BigInteger(), server_default=sa.text("1"), nullable=False)
    return (counter, *moments)


def _constraints(table: str) -> tuple[sa.Constraint, ...]:
    return (
        sa.CheckConstraint("revision >= 1", name=op.f(f"ck_{table}_revision_positive")),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["owners.id"], name=op.f(f"fk_{table}_owner_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
    )
