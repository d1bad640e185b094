"""The keys by which each key was made.

Revision: 0006, after 0005. Blocking: no.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the column; of keys from before it nothing is known."""
    op.add_column(
        "api_keys",
        sa.Column(
            "ancestors",
            postgresql.ARRAY(sa.Uuid()),
            server_default=sa.text("'{}'::uuid[]"),
            nullable=False,
        ),
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_column("api_keys", "ancestors")
