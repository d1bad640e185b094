"""Names of the plates of an alert's list.

Revision: 0020, after 0019.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add them; no plate has one yet."""
    op.add_column(
        "alerts",
        sa.Column("plate_names", postgresql.JSONB, nullable=False, server_default=sa.text("'{}'")),
    )


def downgrade() -> None:
    """Forget them."""
    op.drop_column("alerts", "plate_names")
