"""Rows of the outbox that are a replay's.

Revision: 0010, after 0009. Blocking: no.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_TABLE = "config_outbox"
_NOT_SET_ASIDE = sa.text("error IS NULL")
_OF_A_REPLAY = sa.text("replay_owner_id IS NOT NULL")


def upgrade() -> None:
    """Make the columns and their indexes; rows that wait are no replay's."""
    before_all = sa.text("'-1'::integer")
    op.add_column(_TABLE, sa.Column("replay_owner_id", sa.Uuid(), nullable=True))
    op.add_column(_TABLE, sa.Column("replay_id", sa.Uuid(), nullable=True))
    op.add_column(
        _TABLE,
        sa.Column("replay_position", sa.BigInteger(), server_default=before_all, nullable=False),
    )
    op.create_index(
        "ix_config_outbox_turn",
        _TABLE,
        ["replay_position", "id"],
        postgresql_where=_NOT_SET_ASIDE,
    )
    op.create_index(
        "ix_config_outbox_replay_owner_id",
        _TABLE,
        ["replay_owner_id"],
        postgresql_where=_OF_A_REPLAY,
    )


def downgrade() -> None:
    """Drop them: the relay of the former release sends replays like the rest."""
    op.drop_index("ix_config_outbox_replay_owner_id", _TABLE)
    op.drop_index("ix_config_outbox_turn", _TABLE)
    for column in ("replay_position", "replay_id", "replay_owner_id"):
        op.drop_column(_TABLE, column)
