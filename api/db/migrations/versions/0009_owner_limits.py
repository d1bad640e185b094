"""Limits of an owner's own.

Revision: 0009, after 0008. Blocking: no.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the column; for owners from before it the installation's limits hold."""
    op.add_column(
        "owners",
        sa.Column("limits", JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_column("owners", "limits")
