"""Finishes a restore: what the databases bring back and must not be used again."""

from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import ReturningDelete, ReturningUpdate

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


def end_access(session: Session, *, disables_keys: bool) -> dict[str, int]:
    """End all sessions and invitations, and drop what waited to be published at the backup.

    With ``disables_keys`` all API keys are disabled. May be repeated. Returns counts by name.
    """
    disable = update(ApiKey).where(ApiKey.enabled).values(enabled=False).returning(ApiKey.id)

    def count(statement: ReturningDelete[Any] | ReturningUpdate[Any]) -> int:
        return len(session.scalars(statement).all())

    return {
        "sessionsEnded": count(delete(LoginSession).returning(LoginSession.id)),
        "invitationsEnded": count(delete(Invitation).returning(Invitation.id)),
        "keysDisabled": count(disable) if disables_keys else 0,
        # Published since then: webhooks would get the same events again, some of what was erased.
        "recordsDropped": count(delete(ConfigOutbox).returning(ConfigOutbox.id)),
    }


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


def keys_to_review(session: Session) -> Iterable[tuple[ApiKey, str]]:
    """Return the API keys that can be used, each with its account's address.

    One may have been revoked after the backup.
    """
    keys = (
        select(ApiKey, Owner.email)
        .join(Owner, Owner.id == ApiKey.owner_id)
        .where(ApiKey.enabled, or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > func.now()))
        .order_by(Owner.email, ApiKey.created_at)
    )
    return session.execute(keys).tuples()


def people_to_review(session: Session) -> Iterable[tuple[Person, str]]:
    """Return the people who can log in, each with their account's address.

    One may have been removed or demoted, or had another password, after the backup.
    """
    people = (
        select(Person, Owner.email)
        .join(Owner, Owner.id == Person.owner_id)
        .where(Person.enabled)
        .order_by(Owner.email, Person.created_at)
    )
    return session.execute(people).tuples()
