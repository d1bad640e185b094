"""What was paid for a camera, and until when.

Revision: 0004, after 0003. Blocking: no.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the columns."""
    op.add_column(
        "cameras",
        sa.Column(
            "subscription_credits", sa.BigInteger(), server_default=sa.text("0"), nullable=False
        ),
    )
    op.add_column("cameras", sa.Column("paid_until", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Drop them."""
    op.drop_column("cameras", "paid_until")
    op.drop_column("cameras", "subscription_credits")
