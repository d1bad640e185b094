"""Stores accounts and the people of an account in PostgreSQL."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from api.db.people_tables import Invitation, LoginSession, Person
from api.db.tables import ApiKey, CreditAccount, Owner
from api.security.permissions import Role
from common.errors import InvalidInputError

NO_PASSWORD = ""
"""Password hash of a person without a password. No password matches this hash."""


@dataclass(frozen=True)
class OwnerAccount:
    """An account with its credit balance."""

    id: UUID
    email: str
    timezone: str
    credits: int
    created_at: datetime


@dataclass(frozen=True, repr=False)
class LogInRecord:
    """A person who can log in, and the hash of their password.

    ``is_proven`` is true if the person has proven that they own the email address.
    """

    person_id: UUID
    owner_id: UUID
    password_hash: str
    is_proven: bool


class OwnerNotFoundError(InvalidInputError):
    """The account was deleted after the caller had been authenticated."""

    def __init__(self) -> None:
        super().__init__("The account has been deleted.", code="invalid_credentials")


def insert_owner(session: Session, email: str, password_hash: str, timezone: str) -> Person:
    """Insert an account with a balance of 0 credits, and return its administrator."""
    owner = Owner(email=email, timezone=timezone)
    session.add(owner)
    session.flush()
    session.add(CreditAccount(owner_id=owner.id))
    person = Person(
        owner_id=owner.id,
        email=email,
        role=Role.ADMINISTRATOR.value,
        password_hash=password_hash,
    )
    session.add(person)
    session.flush()
    return person


def find_owner(session: Session, email: str) -> OwnerAccount | None:
    """Return the account with an email address (lower case), or None if there is none."""
    found = session.execute(_OWNERS.where(Owner.email == email)).one_or_none()
    return None if found is None else _owner(*found)


def get_owner(session: Session, owner_id: UUID) -> OwnerAccount:
    """Return an account with its credit balance.

    Raises:
        OwnerNotFoundError: the account no longer exists.
    """
    found = session.execute(_OWNERS.where(Owner.id == owner_id)).one_or_none()
    if found is None:
        raise OwnerNotFoundError
    return _owner(*found)


def list_owners(session: Session) -> list[OwnerAccount]:
    """Return all accounts, newest first."""
    return [_owner(*row) for row in session.execute(_OWNERS.order_by(Owner.created_at.desc()))]


def lock_owner(session: Session, owner_id: UUID) -> Owner:
    """Return an account, locked until the transaction ends.

    The lock serialises the creation of resources in an account, so that limits are not exceeded.

    Raises:
        OwnerNotFoundError: the account no longer exists.
    """
    return _require(
        session.scalar(select(Owner).where(Owner.id == owner_id).with_for_update(key_share=True))
    )


def require_owner(session: Session, owner_id: UUID) -> Owner:
    """Return the row of an account.

    Raises:
        OwnerNotFoundError: the account no longer exists.
    """
    return _require(session.get(Owner, owner_id))


def _require(owner: Owner | None) -> Owner:
    if owner is None:
        raise OwnerNotFoundError
    return owner


def find_log_ins(session: Session, email: str) -> list[LogInRecord]:
    """Return the enabled people with an email address (lower case).

    The person who has proven the address comes first, then all other people, oldest first.
    """
    return [
        log_in_record(person) for person in list_people_by_email(session, email) if person.enabled
    ]


def get_log_in(session: Session, person_id: UUID) -> LogInRecord | None:
    """Return a person, or None if the person does not exist or is disabled."""
    person = session.get(Person, person_id)
    return None if person is None or not person.enabled else log_in_record(person)


def log_in_record(person: Person) -> LogInRecord:
    """Return the login record of a person."""
    return LogInRecord(person.id, person.owner_id, person.password_hash, person.email_proven)


def list_people_by_email(session: Session, email: str) -> list[Person]:
    """Return the people with an email address (lower case) in all accounts.

    The person who has proven the address comes first, then all other people, oldest first.
    """
    order = (Person.email_proven.desc(), Person.created_at, Person.id)
    return list(session.scalars(select(Person).where(Person.email == email).order_by(*order)))


def find_proven(session: Session, email: str) -> Person | None:
    """Return the person who has proven an email address (lower case), or None."""
    found = select(Person).where(Person.email == email, Person.email_proven)
    return session.scalar(found.execution_options(populate_existing=True))


def prove_email(session: Session, person: Person) -> bool:
    """Mark a person's email address as proven. The caller must have locked the person's account.

    Return False if an enabled person of another account has proven the address first. The proof of
    a disabled person is cleared, so that no account can reserve an address.
    """
    session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(person.email, 0))))
    holder = find_proven(session, person.email)
    if holder is not None and holder.id != person.id:
        if holder.enabled:
            return False
        holder.email_proven = False
        session.flush()
    person.email_proven = True
    session.flush()
    return True


def password_like(session: Session, email: str) -> str:
    """Return the password hash of the oldest person with an email address (lower case).

    Ignore people without a password. Return an empty string if no person has a password. New hashes
    for the address use the same cost and salt.
    """
    found = (
        select(Person.password_hash)
        .where(Person.email == email, Person.password_hash != NO_PASSWORD)
        .order_by(Person.created_at, Person.id)
        .limit(1)
    )
    return session.scalar(found) or NO_PASSWORD


def set_password(
    session: Session, person: Person, password_hash: str, *, except_session: UUID | None = None
) -> list[UUID]:
    """Set a password and end sessions except ``except_session``. Return the ended sessions' IDs."""
    lock_owner(session, person.owner_id)
    person.password_hash = password_hash
    ended = [LoginSession.person_id == person.id]
    if except_session is not None:
        ended.append(LoginSession.id != except_session)
    return list(session.scalars(delete(LoginSession).where(*ended).returning(LoginSession.id)))


def close_owner(session: Session, owner_id: UUID) -> tuple[int, int]:
    """Disable access to an account, and return the numbers of deleted sessions and API keys.

    The account's people are disabled, and their passwords and invitations are deleted.
    """
    lock_owner(session, owner_id)
    of_owner = update(Person).where(Person.owner_id == owner_id)
    session.execute(of_owner.values(password_hash=NO_PASSWORD, enabled=False))
    session.execute(delete(Invitation).where(Invitation.owner_id == owner_id))
    sessions = delete(LoginSession).where(LoginSession.owner_id == owner_id)
    keys = delete(ApiKey).where(ApiKey.owner_id == owner_id)
    return (
        len(session.scalars(sessions.returning(LoginSession.id)).all()),
        len(session.scalars(keys.returning(ApiKey.id)).all()),
    )


def delete_owner(session: Session, owner_id: UUID) -> None:
    """Delete an account with all its rows. The caller must publish the deletions first."""
    session.execute(delete(Owner).where(Owner.id == owner_id))


_OWNERS = select(Owner, func.coalesce(CreditAccount.balance, 0)).outerjoin(
    CreditAccount, CreditAccount.owner_id == Owner.id
)


def _owner(owner: Owner, balance: int) -> OwnerAccount:
    return OwnerAccount(
        id=owner.id,
        email=owner.email,
        timezone=owner.timezone,
        credits=balance,
        created_at=owner.created_at,
    )
