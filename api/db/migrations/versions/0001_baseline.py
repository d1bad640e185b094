"""Creates all tables of release 0.1.0, and the functions and triggers of the audit log.

Revision: 0001, after None. Blocking: no.
"""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TABLES = (
    *("audit_entries", "config_outbox", "erasure_jobs", "idempotency_keys"),
    *("credit_reservations", "credit_entries", "credit_accounts", "corrections", "webhooks"),
    *("alerts", "cameras", "api_keys", "sessions", "invitations", "people", "owners"),
)
_FUNCTIONS = (
    *("audit_hold()", "audit_change()", "audit_changed(text, text, jsonb, jsonb)"),
    *("audit_plate(text)", "audit_count(jsonb, jsonb)", "audit_value(jsonb, jsonb)"),
)


def upgrade() -> None:
    """Create all tables, functions and triggers."""
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    """Drop all tables, with their triggers, and all functions."""
    for table in _TABLES:
        op.drop_table(table)
    for function in _FUNCTIONS:
        op.execute(f"DROP FUNCTION {function}")
