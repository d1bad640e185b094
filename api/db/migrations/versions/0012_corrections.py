"""Corrections of recognitions by hand.

Revision: 0012, after 0011. Blocking: no.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "corrections",
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("recognition_id", sa.Uuid(), nullable=False),
        sa.Column("camera_id", sa.Uuid(), nullable=False),
        sa.Column("captured_ms", sa.BigInteger(), nullable=False),
        sa.Column("reading", sa.Text(), nullable=False),
        sa.Column("photo_key", sa.Text(), nullable=True),
        sa.Column("crop_key", sa.Text(), nullable=True),
        sa.Column("plate", sa.Text(), nullable=True),
        sa.Column("region", sa.Text(), nullable=True),
        sa.Column("corrected_by", sa.Text(), nullable=False),
        sa.Column(
            "corrected_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["owners.id"], name=op.f("fk_corrections_owner_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("owner_id", "recognition_id", name=op.f("pk_corrections")),
    )
    op.create_index(
        "ix_corrections_place", "corrections", ["owner_id", "captured_ms", "recognition_id"]
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_index("ix_corrections_place", table_name="corrections")
    op.drop_table("corrections")
