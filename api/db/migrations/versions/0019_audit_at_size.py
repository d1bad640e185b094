"""Indexes of the audit log by what it is filtered by; plates of erasures just done are remembered.

Revision: 0019, after 0018. Blocking: what changes something waits while the indexes are built.
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

_TABLE = "audit_entries"
_FORGOTTEN = "ck_erasure_jobs_plate_forgotten"


def upgrade() -> None:
    """Make them; each ends with the order of the list."""
    op.create_index(
        "ix_audit_entries_owner_id_action_at",
        _TABLE,
        ["owner_id", "action", "at"],
        postgresql_ops={"action": "text_pattern_ops"},
    )
    op.create_index("ix_audit_entries_owner_id_actor_at", _TABLE, ["owner_id", "actor_id", "at"])
    op.create_index(
        "ix_audit_entries_owner_id_actor_name_at",
        _TABLE,
        ["owner_id", sa.text("lower(actor_name)"), "at"],
    )
    op.create_index(
        "ix_audit_entries_owner_id_subject_at",
        _TABLE,
        ["owner_id", "subject_id", "at"],
        postgresql_where=sa.text("subject_id IS NOT NULL"),
    )
    op.drop_constraint(op.f(_FORGOTTEN), "erasure_jobs")
    op.create_check_constraint(
        op.f(_FORGOTTEN), "erasure_jobs", "plate IS NOT NULL OR state = 'done'"
    )


def downgrade() -> None:
    """Drop them, and forget those plates."""
    op.execute("UPDATE erasure_jobs SET plate = NULL WHERE state = 'done'")
    op.drop_constraint(op.f(_FORGOTTEN), "erasure_jobs")
    op.create_check_constraint(
        op.f(_FORGOTTEN), "erasure_jobs", "(plate IS NULL) = (state = 'done')"
    )
    for name in ("subject", "actor_name", "actor", "action"):
        op.drop_index(f"ix_audit_entries_owner_id_{name}_at", table_name=_TABLE)
