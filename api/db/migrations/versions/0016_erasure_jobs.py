"""Plates that are to be erased, as jobs.

Revision: 0016, after 0014. Blocking: no.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0016"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "erasure_jobs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("plate", sa.Text(), nullable=True),
        sa.Column("plate_masked", sa.Text(), nullable=False),
        sa.Column("before_ms", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("requested_by", sa.Text(), nullable=False),
        sa.Column(
            "requested_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("counts", postgresql.JSONB(), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('waiting', 'running', 'done')", name=op.f("ck_erasure_jobs_state_known")
        ),
        sa.CheckConstraint(
            "(plate IS NULL) = (state = 'done')", name=op.f("ck_erasure_jobs_plate_forgotten")
        ),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["owners.id"], name=op.f("fk_erasure_jobs_owner_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_erasure_jobs")),
    )
    op.create_index(
        "ix_erasure_jobs_open",
        "erasure_jobs",
        ["owner_id", "requested_at"],
        postgresql_where=sa.text("state <> 'done'"),
    )
    op.create_index("ix_erasure_jobs_owner_id", "erasure_jobs", ["owner_id"])


def downgrade() -> None:
    """Drop it; what was asked for and not yet done is not done."""
    op.drop_table("erasure_jobs")
