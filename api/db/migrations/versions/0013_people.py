"""People of an account: who has it today becomes its administrator.

Revision: 0013, after 0012. Blocking: yes, stop the API before it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_NOW = sa.text("now()")
_ROLES = "role IN ('viewer', 'operator', 'administrator')"


def upgrade() -> None:
    """Make the tables; passwords and sessions go over to each account's administrator."""
    op.create_table(
        "people",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("last_log_in_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.CheckConstraint(_ROLES, name=op.f("ck_people_role_known")),
        _of_owner("people"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_people")),
        sa.UniqueConstraint("email", name=op.f("uq_people_email")),
    )
    op.create_index("ix_people_owner_id_created_at", "people", ["owner_id", "created_at"])
    op.execute(
        "INSERT INTO people (id, owner_id, email, role, password_hash, created_at)"
        " SELECT gen_random_uuid(), id, email, 'administrator', password_hash, created_at"
        " FROM owners"
    )
    op.drop_column("owners", "password_hash")
    op.add_column("sessions", sa.Column("person_id", sa.Uuid(), nullable=True))
    op.execute(
        "UPDATE sessions SET person_id = people.id FROM people"
        " WHERE people.owner_id = sessions.owner_id"
    )
    op.alter_column("sessions", "person_id", nullable=False)
    op.create_foreign_key(
        op.f("fk_sessions_person_id"),
        "sessions",
        "people",
        ["person_id"],
        ["id"],
        ondelete="CASCADE",
    )
    op.drop_index("ix_sessions_owner_id_created_at", table_name="sessions")
    op.create_index("ix_sessions_person_id_created_at", "sessions", ["person_id", "created_at"])
    op.create_index(op.f("ix_sessions_owner_id"), "sessions", ["owner_id"])
    op.create_table(
        "invitations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("invited_by", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.CheckConstraint(_ROLES, name=op.f("ck_invitations_role_known")),
        _of_owner("invitations"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitations")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_invitations_token_hash")),
    )
    op.create_index(
        "uq_invitations_owner_id_email", "invitations", ["owner_id", "email"], unique=True
    )
    op.create_index(op.f("ix_invitations_expires_at"), "invitations", ["expires_at"])


def downgrade() -> None:
    """Give each account the password of one administrator; all others are gone.

    That is the person of the account's own address where it is an administrator, else the first.
    """
    op.add_column(
        "owners", sa.Column("password_hash", sa.Text(), server_default="", nullable=False)
    )
    op.execute(
        "CREATE TEMPORARY TABLE kept_people ON COMMIT DROP AS"
        " SELECT DISTINCT ON (people.owner_id) people.id, people.owner_id, people.password_hash"
        " FROM people JOIN owners ON owners.id = people.owner_id"
        " WHERE people.role = 'administrator' AND people.enabled"
        " ORDER BY people.owner_id, people.email = owners.email DESC, people.created_at"
    )
    op.execute(
        "UPDATE owners SET password_hash = kept_people.password_hash FROM kept_people"
        " WHERE kept_people.owner_id = owners.id"
    )
    op.alter_column("owners", "password_hash", server_default=None)
    op.execute("DELETE FROM sessions WHERE person_id NOT IN (SELECT id FROM kept_people)")
    op.drop_index(op.f("ix_sessions_owner_id"), table_name="sessions")
    op.drop_index("ix_sessions_person_id_created_at", table_name="sessions")
    op.create_index("ix_sessions_owner_id_created_at", "sessions", ["owner_id", "created_at"])
    op.drop_constraint(op.f("fk_sessions_person_id"), "sessions")
    op.drop_column("sessions", "person_id")
    op.drop_table("invitations")
    op.drop_table("people")


def _of_owner(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["owner_id"], ["owners.id"], name=op.f(f"fk_{table}_owner_id"), ondelete="CASCADE"
    )
