"""Completes a restore: revokes restored access and repeats erasures.

The erasures are also stored in a file, so that restored servers do not contain erased data.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID

import msgspec
from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import ReturningDelete, ReturningUpdate

from analytics_sql.client import ClickHouseClient
from analytics_sql.erasure import (
    Erasure,
    StoredErasure,
    insert_erasures,
    list_plates,
    list_stored_erasures,
    stored_erasure,
)
from analytics_sql.migrate import check_schema
from api.accounts.repository import list_owners
from api.actors import Action
from api.audit.actions import current_action
from api.audit.repository import write_actions
from api.db.engine import in_transaction, opened_engine, require_service_stopped
from api.db.migrate import current_revision, head_revision
from api.db.people_tables import Invitation, LoginSession, Person
from api.db.tables import (
    Alert,
    ApiKey,
    Camera,
    ConfigOutbox,
    CorrectionEntry,
    ErasureJob,
    Owner,
    Webhook,
)
from api.erasure.service import (
    ErasureSettings,
    delete_account,
    end_account,
    erase_stored_owner,
    erase_stored_plate,
    open_rows,
)
from api.outbox.outbox import republish_all
from api.recognitions.repository import erase_corrections, list_misread
from common.errors import InvalidInputError, MisconfiguredError
from common.plates.normalise import normalise_plate
from common.secrets import SecretBox
from common.settings import ClickHouseSettings, EncryptionSettings

_ENCRYPTED: Final = (
    Camera.stream_url_encrypted,
    Webhook.secret_encrypted,
    Owner.notification_secret_encrypted,
)

_T = TypeVar("_T")
_Reviewed = TypeVar("_Reviewed", ApiKey, Person)
InDatabase = Callable[[Callable[[Session], _T]], _T]
"""Runs a function in a transaction and returns its result."""
_ALL: Final = ""
_MODE: Final = 0o600


class RestoreSettings(ErasureSettings, EncryptionSettings):
    """The settings of all stores, and the key that encrypts the stored data."""


def check_restored(settings: RestoreSettings) -> None:
    """Check that the service is stopped and that PostgreSQL matches this release and key.

    Raises:
        ServiceRunningError: the service is running.
        MisconfiguredError: the tables are from another release, or the backup used another key.
    """
    box = SecretBox(settings.secret_key.get_secret_value())
    with opened_engine(settings) as engine:
        require_service_stopped(engine)
        with engine.connect() as connection:
            revision = current_revision(connection)
        if revision != head_revision():
            raise MisconfiguredError(
                f"the tables have revision {revision}: run python -m api.db migrate first"
            )
        in_transaction(engine, lambda session: _check_secret_key(session, box))


async def check_clickhouse(settings: ClickHouseSettings) -> None:
    """Check that ClickHouse's tables match this release.

    Raises:
        MisconfiguredError: a migration has not been applied.
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
    """End all sessions and invitations, and delete the restored outbox.

    If ``disables_keys``, also disable all API keys. Return counts by name. Repeating is safe.
    """
    disable = update(ApiKey).where(ApiKey.enabled).values(enabled=False).returning(ApiKey.id)

    def count(statement: ReturningDelete[Any] | ReturningUpdate[Any]) -> int:
        return len(session.scalars(statement).all())

    return {
        "sessionsEnded": count(delete(LoginSession).returning(LoginSession.id)),
        "invitationsEnded": count(delete(Invitation).returning(Invitation.id)),
        "keysDisabled": count(disable) if disables_keys else 0,
        # The records were already published. Webhooks would get events of erased plates again.
        "recordsDropped": count(delete(ConfigOutbox).returning(ConfigOutbox.id)),
    }


def publish(session: Session, erased: Mapping[UUID, int]) -> int:
    """Publish all configuration again and add the restore to the audit logs.

    Return the number of records. ``erased`` counts the plates that were erased again, by account.
    """
    actions = [
        current_action(owner.id, Action.ACCOUNT_RESTORED, count=erased.get(owner.id, 0))
        for owner in list_owners(session)
    ]
    write_actions(session, actions)
    return republish_all(session)


def to_review(session: Session, table: type[_Reviewed]) -> list[tuple[_Reviewed, str]]:
    """Return all valid API keys, or all people who can log in, and the accounts' email addresses.

    Since the backup, keys may have been revoked, and people removed or given another role.
    """
    found = select(table, Owner.email).join(Owner, Owner.id == table.owner_id).where(table.enabled)
    if issubclass(table, ApiKey):
        found = found.where(or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > func.now()))
    found = found.order_by(Owner.email, table.created_at)
    return [(one, account) for one, account in session.execute(found)]


class _FileErasure(msgspec.Struct, frozen=True, rename="camel"):
    """An erasure of a plate (or account, if no ``plate_hash``). ``before_ms`` is Unix ms, UTC."""

    owner_id: UUID
    before_ms: int
    plate_hash: str | None = None


class _File(msgspec.Struct, frozen=True):
    erasures: list[_FileErasure]


def read_file(path: Path) -> list[StoredErasure]:
    """Return the erasures in a file that :func:`add_to_file` wrote.

    Raises:
        InvalidInputError: the file cannot be read.
    """
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_File).erasures
    except (OSError, msgspec.DecodeError) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}", code="unreadable") from error
    return [StoredErasure(each.owner_id, each.plate_hash or "", each.before_ms) for each in found]


def add_to_file(path: Path, erasures: Sequence[StoredErasure]) -> int:
    """Add erasures to a file with mode 600, and return the number of erasures in the file.

    The file is replaced atomically. The new file retains earlier erasures, which the databases
    delete after 30 days.

    Raises:
        InvalidInputError: the file cannot be read or written.
    """
    latest: dict[tuple[UUID, str], int] = {}
    for each in [*(read_file(path) if path.exists() else ()), *erasures]:
        key = each.user_id, each.plate_hash
        latest[key] = max(each.before_ms, latest.get(key, 0))
    lines = [
        _FileErasure(user, before_ms, text or None) for (user, text), before_ms in latest.items()
    ]
    try:
        fresh = path.with_name(f"{path.name}.new")
        fresh.unlink(missing_ok=True)
        fresh.touch(_MODE)
        fresh.write_bytes(msgspec.json.encode(_File(lines)))
        fresh.replace(path)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be written: {error}", code="unwritable") from error
    return len(lines)


def open_requests(session: Session) -> list[StoredErasure]:
    """Return the requested erasures of plates that have not been completed."""
    jobs = session.scalars(select(ErasureJob).where(ErasureJob.plate.is_not(None)))
    return [stored_erasure(Erasure(job.owner_id, job.plate, job.before_ms)) for job in jobs]


async def read_erasures(settings: ClickHouseSettings) -> list[StoredErasure]:
    """Return the erasures that are recorded in ClickHouse.

    Raises:
        TransientError: ClickHouse is unavailable or busy.
    """
    async with open_rows(settings) as rows:
        return await list_stored_erasures(rows.client)


async def erase_again(
    settings: ErasureSettings, in_database: InDatabase[Any], erasures: Sequence[StoredErasure]
) -> dict[UUID, int]:
    """Repeat erasures. Return the number of erased plates (1 for a whole account) by account.

    Safe to repeat. Erasures recorded in ClickHouse are also repeated, because the backup
    of PostgreSQL may be older.

    Raises:
        TransientError: a server is unavailable or busy.
    """
    async with open_rows(settings) as rows:
        await insert_erasures(rows.client, erasures)
        known = await list_stored_erasures(rows.client)
    by_owner: dict[UUID, dict[str, int]] = defaultdict(dict)
    for each in known:
        by_owner[each.user_id][each.plate_hash] = each.before_ms
    return {
        owner_id: await _of_owner(settings, in_database, owner_id, before)
        for owner_id, before in by_owner.items()
    }


async def _of_owner(
    settings: ErasureSettings,
    in_database: InDatabase[Any],
    owner_id: UUID,
    before: Mapping[str, int],
) -> int:
    if _ALL in before:
        return await _account(settings, in_database, owner_id)
    async with open_rows(settings) as rows:
        plates = await list_plates(rows.client, owner_id)
    plates |= in_database(lambda session: _named(session, owner_id))
    erasures = [Erasure(owner_id, plate) for plate in sorted(plates) if plate]
    found = [each for each in erasures if each.plate_hash in before]
    for erasure in found:
        await _plate(settings, in_database, erasure, before[erasure.plate_hash])
    return len(found)


async def _account(settings: ErasureSettings, in_database: InDatabase[Any], owner_id: UUID) -> int:
    if in_database(lambda session: session.get(Owner, owner_id)) is None:
        # ClickHouse and S3 can still contain data of the account.
        await erase_stored_owner(settings, owner_id)
        return 0
    in_database(lambda session: end_account(session, owner_id))
    await erase_stored_owner(settings, owner_id)
    in_database(lambda session: delete_account(session, owner_id))
    return 1


async def _plate(
    settings: ErasureSettings, in_database: InDatabase[Any], erasure: Erasure, before_ms: int
) -> None:
    owner_id, plate = erasure.user_id, erasure.plate or ""
    misread = in_database(
        lambda session: list_misread(session, owner_id, plate, before_ms=before_ms)
    )
    await erase_stored_plate(settings, settings, owner_id, plate, misread, before_ms)
    in_database(lambda session: erase_corrections(session, owner_id, plate, before_ms=before_ms))


def _named(session: Session, owner_id: UUID) -> set[str]:
    """Return the plates in an account's corrections and in the lists of its alerts."""
    corrected = session.execute(
        select(CorrectionEntry.reading, CorrectionEntry.plate).where(
            CorrectionEntry.owner_id == owner_id
        )
    )
    named = {text for row in corrected for text in row if text}
    for plates in session.scalars(select(Alert.plates).where(Alert.owner_id == owner_id)):
        named.update(map(normalise_plate, plates))
    return named
