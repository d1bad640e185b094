"""Determines the accounts whose administrators operate the installation."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from api.db.database import Database
from api.db.tables import Owner
from api.errors import ApiError, ErrorCode


def oldest_accounts(session: Session) -> Sequence[UUID]:
    """Return the IDs of the two oldest accounts, oldest first."""
    return session.scalars(select(Owner.id).order_by(Owner.created_at, Owner.id).limit(2)).all()


class Operators:
    """Decides which accounts see the state of the installation."""

    def __init__(self, database: Database, accounts: Sequence[str]) -> None:
        """``accounts`` are lower-case email addresses or IDs. Empty means the oldest account."""
        self._database = database
        self._accounts = frozenset(accounts)

    async def require(self, owner_id: UUID) -> None:
        """Check that an account operates the installation.

        Raises:
            ApiError: 403, the account does not operate the installation.
        """
        if not await self._database.run(lambda session: self._includes(session, owner_id)):
            sentence = "Only accounts that operate the installation can make this call."
            raise ApiError(ErrorCode.MISSING_SCOPE, sentence)

    def _includes(self, session: Session, owner_id: UUID) -> bool:
        if not self._accounts:
            return owner_id in oldest_accounts(session)[:1]
        email = session.scalar(select(Owner.email).where(Owner.id == owner_id))
        return email in self._accounts or str(owner_id) in self._accounts
