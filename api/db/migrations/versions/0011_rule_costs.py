"""The cost of each alert's list.

Revision: 0011, after 0010. Blocking: no.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the column; alerts from before it cost nothing until their list is changed."""
    op.add_column(
        "alerts",
        sa.Column("rule_cost", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_column("alerts", "rule_cost")
