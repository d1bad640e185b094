"""The secret before the last rotation, as long as both sign.

Revision: 0005, after 0004. Blocking: no.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the columns."""
    op.add_column("webhooks", sa.Column("previous_secret_encrypted", sa.Text(), nullable=True))
    op.add_column(
        "webhooks", sa.Column("previous_secret_until", sa.DateTime(timezone=True), nullable=True)
    )


def downgrade() -> None:
    """Drop them."""
    op.drop_column("webhooks", "previous_secret_until")
    op.drop_column("webhooks", "previous_secret_encrypted")
