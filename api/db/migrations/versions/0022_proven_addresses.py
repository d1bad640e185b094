"""Email addresses are claims until they are proven; an address can be claimed in several accounts.

Revision: 0022, after 0021. Blocking: no.
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_AUDITED = (
    ("people", "INSERT", "person.joined", "true"),
    ("people", "UPDATE", "person.updated", "true"),
    ("people", "DELETE", "person.removed", "true"),
    ("invitations", "INSERT", "invitation.created", "true"),
    (
        "invitations",
        "DELETE",
        "invitation.revoked",
        "(coalesce(nullif(current_setting('platestream.actor', true), ''), '{}')::jsonb"
        " ->> 'name' = OLD.email) IS NOT TRUE",
    ),
)
"""Triggers of the audit log: table, kind, action, condition."""

_BEFORE = {"people": "last_log_in_at", "invitations": "token_hash, invited_by"}
_AFTER = {
    # A proof in another account changes email_proven: the audit log must not reveal it.
    "people": "last_log_in_at, email_proven, oidc_unlinked_at",
    "invitations": "token_hash, emailed_token_hash, invited_by",
}
"""Columns that entries of the audit log leave out, by table."""


def upgrade() -> None:
    """Add the columns, and mark the addresses that are proven.

    Proven are those of people named by the server administrator, and of people whom the provider
    verified: they have an identity there, or had one and have no password.
    """
    op.add_column(
        "people",
        sa.Column("email_proven", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    op.add_column("people", sa.Column("oidc_unlinked_at", sa.DateTime(timezone=True)))
    op.add_column("invitations", sa.Column("emailed_token_hash", sa.LargeBinary()))
    _write_triggers(_AFTER)
    op.execute(
        "UPDATE people SET email_proven = true FROM owners WHERE owners.id = people.owner_id"
        " AND (people.email = owners.email OR people.oidc_subject IS NOT NULL"
        " OR (people.password_hash = '' AND people.enabled))"
    )
    op.drop_constraint(op.f("uq_people_email"), "people")
    op.create_index("uq_people_owner_id_email", "people", ["owner_id", "email"], unique=True)
    op.create_index(
        "uq_people_proven_email",
        "people",
        ["email"],
        unique=True,
        postgresql_where=sa.text("email_proven"),
    )
    op.create_index("ix_people_email", "people", ["email"])
    op.create_unique_constraint(
        op.f("uq_invitations_emailed_token_hash"), "invitations", ["emailed_token_hash"]
    )


def downgrade() -> None:
    """Drop them. Of the people of an address one stays: who has proven it, else the first."""
    op.execute(
        "DELETE FROM people WHERE id NOT IN (SELECT DISTINCT ON (email) id FROM people"
        " ORDER BY email, email_proven DESC, created_at, id)"
    )
    op.drop_index("ix_people_email", table_name="people")
    op.drop_index("uq_people_proven_email", table_name="people")
    op.drop_index("uq_people_owner_id_email", table_name="people")
    op.create_unique_constraint(op.f("uq_people_email"), "people", ["email"])
    op.drop_constraint(op.f("uq_invitations_emailed_token_hash"), "invitations")
    op.drop_column("invitations", "emailed_token_hash")
    op.drop_column("people", "oidc_unlinked_at")
    op.drop_column("people", "email_proven")
    _write_triggers(_BEFORE)


def _write_triggers(left_out: dict[str, str]) -> None:
    for table, kind, action, condition in _AUDITED:
        op.execute(
            f"CREATE OR REPLACE TRIGGER audit_{kind.lower()}_{action.replace('.', '_')}"
            f" AFTER {kind} ON {table} FOR EACH ROW WHEN ({condition})"
            f" EXECUTE FUNCTION audit_change('{action}', 'email', '{{{left_out[table]}}}')"
        )
