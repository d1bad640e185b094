"""Defines the tables of people, sessions and invitations."""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import CheckConstraint, ForeignKey, Index, LargeBinary, func, text
from sqlalchemy.orm import Mapped, mapped_column

from api.db.tables import Base, OwnedRow

_KNOWN_ROLE = "role IN ('viewer', 'operator', 'administrator')"


class Person(OwnedRow):
    """A person who can log in to an account.

    ``email`` is lower case, and unique within the account. The address is a claim until it is
    proven by an emailed token, by the provider, or by the server administrator. An address can be
    proven for only one person in all accounts. ``oidc_issuer`` and ``oidc_subject`` identify the
    person at the provider, and are set at the first login there.
    """

    __tablename__ = "people"
    __table_args__ = (
        CheckConstraint(_KNOWN_ROLE, name="role_known"),
        CheckConstraint(
            "(oidc_issuer IS NULL) = (oidc_subject IS NULL)", name="oidc_identity_whole"
        ),
        Index("ix_people_owner_id_created_at", "owner_id", "created_at"),
        Index("uq_people_oidc_identity", "oidc_issuer", "oidc_subject", unique=True),
        Index("uq_people_owner_id_email", "owner_id", "email", unique=True),
        Index(
            "uq_people_proven_email", "email", unique=True, postgresql_where=text("email_proven")
        ),
        Index("ix_people_email", "email"),
    )

    email: Mapped[str]
    email_proven: Mapped[bool] = mapped_column(server_default=text("false"))
    name: Mapped[str] = mapped_column(server_default="")
    role: Mapped[str]
    password_hash: Mapped[str]
    enabled: Mapped[bool] = mapped_column(server_default=text("true"))
    oidc_issuer: Mapped[str | None]
    oidc_subject: Mapped[str | None]
    oidc_unlinked_at: Mapped[datetime | None]
    last_log_in_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())

    @property
    def has_password(self) -> bool:
        """Whether the person can log in with a password."""
        return bool(self.password_hash)


class LoginSession(Base):
    """A login session of a person. Only the SHA-256 of the token is stored."""

    __tablename__ = "sessions"
    __table_args__ = (Index("ix_sessions_person_id_created_at", "person_id", "created_at"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    owner_id: Mapped[UUID] = mapped_column(ForeignKey("owners.id", ondelete="CASCADE"), index=True)
    person_id: Mapped[UUID] = mapped_column(ForeignKey("people.id", ondelete="CASCADE"))
    token_hash: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    expires_at: Mapped[datetime] = mapped_column(index=True)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Invitation(OwnedRow):
    """An invitation to join an account. Only the SHA-256 of each token is stored.

    ``token_hash`` belongs to the token shown to the administrator. ``emailed_token_hash`` belongs
    to the token sent only by email, which proves the address; it is None without an SMTP server.
    """

    __tablename__ = "invitations"
    __table_args__ = (
        CheckConstraint(_KNOWN_ROLE, name="role_known"),
        Index("uq_invitations_owner_id_email", "owner_id", "email", unique=True),
    )

    email: Mapped[str]
    role: Mapped[str]
    token_hash: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    emailed_token_hash: Mapped[bytes | None] = mapped_column(LargeBinary, unique=True)
    invited_by: Mapped[str]
    expires_at: Mapped[datetime] = mapped_column(index=True)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
