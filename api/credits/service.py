"""Returns an account's credit balance and ledger."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from api.credits import repository
from api.db.database import Database
from api.db.tables import CreditEntry

_LEDGER_ROWS = 20


class Credits:
    """Reads the credit balances and ledgers of accounts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def statement(self, owner_id: UUID) -> tuple[int, Sequence[CreditEntry]]:
        """Return an account's balance and its newest ledger entries, newest first."""

        def work(session: Session) -> tuple[int, Sequence[CreditEntry]]:
            entries = repository.list_entries(session, owner_id, _LEDGER_ROWS)
            return repository.balance(session, owner_id), entries

        return await self._database.run(work)
