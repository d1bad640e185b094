"""The notification secret before the last rotation, while both sign; rotations in the audit log.

Revision: 0021, after 0020. Blocking: no.
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

_TRIGGER = "audit_update_account_updated"
# The first secret comes with an alert, whose entry is enough.
_IS_ROTATION = (
    "OLD.notification_secret_encrypted IS NOT NULL OR NEW.notification_secret_encrypted IS NULL"
)


def upgrade() -> None:
    """Add the columns, and write an entry when a secret is replaced."""
    op.add_column(
        "owners", sa.Column("previous_notification_secret_encrypted", sa.Text(), nullable=True)
    )
    op.add_column(
        "owners",
        sa.Column("previous_notification_secret_until", sa.DateTime(timezone=True), nullable=True),
    )
    _replace_trigger(_IS_ROTATION, "previous_notification_secret_encrypted")


def downgrade() -> None:
    """Drop the columns; rotations are no longer noticed."""
    _replace_trigger("true", "notification_secret_encrypted")
    op.drop_column("owners", "previous_notification_secret_until")
    op.drop_column("owners", "previous_notification_secret_encrypted")


def _replace_trigger(condition: str, ignored: str) -> None:
    op.execute(f"DROP TRIGGER {_TRIGGER} ON owners")
    op.execute(
        f"CREATE TRIGGER {_TRIGGER} AFTER UPDATE ON owners FOR EACH ROW WHEN ({condition})"
        f" EXECUTE FUNCTION audit_change('account.updated', 'email', '{{{ignored}}}')"
    )
