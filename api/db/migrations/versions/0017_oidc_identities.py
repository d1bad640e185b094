"""Who people are at an OpenID Connect provider.

Revision: 0017, after 0016. Blocking: no.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the two columns, empty; triggers tell of them as of the others."""
    op.add_column("people", sa.Column("oidc_issuer", sa.Text(), nullable=True))
    op.add_column("people", sa.Column("oidc_subject", sa.Text(), nullable=True))
    op.create_check_constraint(
        op.f("ck_people_oidc_identity_whole"),
        "people",
        "(oidc_issuer IS NULL) = (oidc_subject IS NULL)",
    )
    op.create_index(
        "uq_people_oidc_identity", "people", ["oidc_issuer", "oidc_subject"], unique=True
    )


def downgrade() -> None:
    """Drop them; who has no password logs in no more until one is set."""
    op.drop_index("uq_people_oidc_identity", table_name="people")
    op.drop_constraint(op.f("ck_people_oidc_identity_whole"), "people")
    op.drop_column("people", "oidc_subject")
    op.drop_column("people", "oidc_issuer")
