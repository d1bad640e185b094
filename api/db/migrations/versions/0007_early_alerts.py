"""Whether an alert may trigger early.

Revision: 0007, after 0006. Blocking: no.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the column; alerts from before it go by the setting (null)."""
    op.add_column("alerts", sa.Column("early", sa.Boolean(), nullable=True))


def downgrade() -> None:
    """Drop it."""
    op.drop_column("alerts", "early")
