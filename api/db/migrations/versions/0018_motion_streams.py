"""The second, small stream of a camera, by which motion is judged.

Revision: 0018, after 0017. Blocking: no.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the address, encrypted and as it is shown; triggers tell of both as of the others."""
    op.add_column("cameras", sa.Column("motion_url_encrypted", sa.Text(), nullable=True))
    op.add_column("cameras", sa.Column("motion_url_shown", sa.Text(), nullable=True))
    op.create_check_constraint(
        op.f("ck_cameras_motion_url_whole"),
        "cameras",
        "(motion_url_encrypted IS NULL) = (motion_url_shown IS NULL)",
    )


def downgrade() -> None:
    """Drop it; cameras are judged by their main streams."""
    op.drop_constraint(op.f("ck_cameras_motion_url_whole"), "cameras")
    op.drop_column("cameras", "motion_url_shown")
    op.drop_column("cameras", "motion_url_encrypted")
