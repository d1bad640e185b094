"""Shows the balance and the ledger."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.orm import Session

from api.credits import repository
from api.credits.repository import LedgerEntry
from api.db.database import Database

_LEDGER_ROWS = 20


@dataclass(frozen=True)
class Statement:
    """A balance with the newest rows of its ledger."""

    balance: int
    entries: tuple[LedgerEntry, ...]


class Credits:
    """The balances of all owners."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def statement(self, owner_id: UUID) -> Statement:
        """Return the owner's balance and newest ledger rows."""

        def work(session: Session) -> Statement:
            entries = repository.latest_entries(session, owner_id, _LEDGER_ROWS)
            return Statement(repository.balance(session, owner_id), tuple(entries))

        return await self._database.run(work)
