"""Why a row of the outbox cannot be published.

Revision: 0008, after 0007. Blocking: no.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the column."""
    op.add_column("config_outbox", sa.Column("error", sa.Text(), nullable=True))


def downgrade() -> None:
    """Drop it: the relay of the former release tries all rows again."""
    op.drop_column("config_outbox", "error")
