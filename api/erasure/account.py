"""An account's end in PostgreSQL, with a record for every stage that is to forget something."""

from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from api.accounts.repository import close_owner, delete_owner
from api.alerts.repository import delete_alerts_of
from api.cameras.repository import delete_cameras_of
from api.credits.repository import count_entries
from api.db.tables import Alert
from api.erasure.models import EndedAccount
from api.webhooks.repository import delete_webhooks_of
from contracts.plates import normalise_plate


def end_account(session: Session, owner_id: UUID) -> EndedAccount:
    """End all by which an account works; nobody can log in to it any more. May be repeated.

    The account's row stays until nothing is stored of it, so that its removal can go on after a
    crash.
    """
    sessions, keys = close_owner(session, owner_id)
    return EndedAccount(
        sessions=sessions,
        keys=keys,
        cameras=delete_cameras_of(session, owner_id),
        alerts=delete_alerts_of(session, owner_id),
        webhooks=delete_webhooks_of(session, owner_id),
    )


def delete_account(session: Session, owner_id: UUID) -> EndedAccount:
    """Delete an account with its ledger, and what a call in flight added to it after its end."""
    # A ledger of years takes longer than any other statement may.
    session.execute(text("SET LOCAL statement_timeout = '10min'"))
    late = end_account(session, owner_id)
    entries = count_entries(session, owner_id)
    delete_owner(session, owner_id)
    return late + EndedAccount(0, 0, 0, 0, 0, ledger_entries=entries)


def alerts_naming(session: Session, owner_id: UUID, plate: str) -> int:
    """Return how many of the owner's alerts have a plate (normalised) in their list."""
    lists = session.scalars(select(Alert.plates).where(Alert.owner_id == owner_id))
    return sum(plate in map(normalise_plate, plates) for plates in lists)
