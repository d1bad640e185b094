"""Finishes a restore: what the databases bring back and must not be used again."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.orm import Session

from analytics_sql.client import ClickHouseClient
from analytics_sql.migrate import check_schema
from api.accounts.repository import list_owners
from api.db.engine import check_nobody_works, in_transaction, open_engine
from api.db.migrate import current_revision, head_revision
from api.db.people_tables import Invitation, LoginSession, Person
from api.db.tables import ApiKey, Camera, ConfigOutbox, Owner, Webhook
from api.erasure.service import ErasureSettings
from api.outbox.outbox import republish_all
from api.security.actions import Action
from api.trail.entries import act_in_hand, write_acts
from common.errors import MisconfiguredError
from common.secrets import SecretBox
from common.settings import ClickHouseSettings, EncryptionSettings

_ENCRYPTED: Final = (
    Camera.stream_url_encrypted,
    Webhook.secret_encrypted,
    Owner.notification_secret_encrypted,
)


@dataclass(frozen=True)
class RestoredAccess:
    """Counts of what a restore brought back and is ended."""

    sessions: int
    invitations: int
    keys_disabled: int
    records_dropped: int


@dataclass(frozen=True)
class KeyToReview:
    """An API key that can be used; it may have been revoked after the backup."""

    id: UUID
    account: str
    name: str
    prefix: str
    scopes: tuple[str, ...]
    created_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True)
class PersonToReview:
    """A person who can log in; removed, demoted or given another password after the backup?"""

    id: UUID
    account: str
    email: str
    role: str
    created_at: datetime
    last_log_in_at: datetime | None


@dataclass(frozen=True)
class ToReview:
    """What an administrator compares with what was there before the restore."""

    keys: tuple[KeyToReview, ...]
    people: tuple[PersonToReview, ...]


class RestoreSettings(ErasureSettings, EncryptionSettings):
    """The settings of every store, and of the key that opens what is encrypted in them."""


def check_restored(settings: RestoreSettings) -> None:
    """Return if no process of the service runs and PostgreSQL fits this release and secret key.

    Raises:
        ServiceRunsError: the service runs.
        MisconfiguredError: the tables are of another release, or the key is not that of the backup.
    """
    box = SecretBox(settings.secret_key.get_secret_value())
    engine = open_engine(settings)
    try:
        check_nobody_works(engine)
        with engine.connect() as connection:
            revision = current_revision(connection)
        if revision != head_revision():
            raise MisconfiguredError(
                f"the tables have revision {revision}: run python -m api.db migrate first"
            )
        in_transaction(engine, lambda session: _check_secret_key(session, box))
    finally:
        engine.dispose()


async def check_clickhouse(settings: ClickHouseSettings) -> None:
    """Return if ClickHouse's tables fit this release.

    Raises:
        MisconfiguredError: a migration is missing.
        TransientError: ClickHouse is unavailable or busy.
    """
    client = ClickHouseClient(settings)
    await client.connect()
    try:
        await check_schema(client)
    finally:
        await client.close()


def _check_secret_key(session: Session, box: SecretBox) -> None:
    for column in _ENCRYPTED:
        if token := session.scalar(select(column).where(column.is_not(None)).limit(1)):
            box.decrypt(token)


def end_access(session: Session, *, disables_keys: bool) -> RestoredAccess:
    """End all sessions and invitations, and drop what waited to be published at the backup.

    With ``disables_keys`` all API keys are disabled. May be repeated.
    """
    sessions = session.scalars(delete(LoginSession).returning(LoginSession.id)).all()
    invitations = session.scalars(delete(Invitation).returning(Invitation.id)).all()
    # Published since then: webhooks would get the same events again, some of what was erased.
    dropped = session.scalars(delete(ConfigOutbox).returning(ConfigOutbox.id)).all()
    disabled = []
    if disables_keys:
        enabled = update(ApiKey).where(ApiKey.enabled).values(enabled=False)
        disabled = list(session.scalars(enabled.returning(ApiKey.id)).all())
    return RestoredAccess(len(sessions), len(invitations), len(disabled), len(dropped))


def publish(session: Session, erased: Mapping[UUID, int]) -> int:
    """Publish all configuration again, note the restore in the audit logs; return how many records.

    ``erased`` counts the plates that were erased again, by account.
    """
    acts = [
        act_in_hand(owner.id, Action.ACCOUNT_RESTORED, count=erased.get(owner.id, 0))
        for owner in list_owners(session)
    ]
    write_acts(session, acts)
    return republish_all(session)


def to_review(session: Session) -> ToReview:
    """Return the API keys and people that can be used, by account, oldest first."""
    keys = session.execute(
        select(ApiKey, Owner.email)
        .join(Owner, Owner.id == ApiKey.owner_id)
        .where(ApiKey.enabled, or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > func.now()))
        .order_by(Owner.email, ApiKey.created_at)
    )
    people = session.execute(
        select(Person, Owner.email)
        .join(Owner, Owner.id == Person.owner_id)
        .where(Person.enabled)
        .order_by(Owner.email, Person.created_at)
    )
    return ToReview(
        tuple(
            KeyToReview(
                *(key.id, account, key.name, key.prefix, tuple(key.scopes)),
                *(key.created_at, key.last_used_at),
            )
            for key, account in keys
        ),
        tuple(
            PersonToReview(
                *(person.id, account, person.email, person.role),
                *(person.created_at, person.last_log_in_at),
            )
            for person, account in people
        ),
    )
