"""Creates accounts and API keys, and changes passwords."""

import re
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID
from zoneinfo import available_timezones

from sqlalchemy.orm import Session

from api.accounts import repository
from api.accounts.repository import OwnerAccount
from api.credits import repository as credits_repository
from api.credits.repository import EntryKind
from api.db.people_tables import Person
from api.db.tables import ApiKey
from api.security import credentials
from api.security import repository as key_repository
from api.security.permissions import Scope
from api.security.repository import KeyRecord
from common.errors import InvalidInputError

_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}\Z")
MAX_KEY_NAME_CHARACTERS = 200


@dataclass(frozen=True)
class NewKey:
    """A new API key. ``plain_key`` is not stored anywhere."""

    record: KeyRecord
    plain_key: str


def create_owner(
    session: Session, *, email: str, password: str, timezone: str, credits: int
) -> OwnerAccount:
    """Create an account with a grant of ``credits`` as its first ledger entry.

    Raises:
        InvalidInputError: the email address, password or time zone is invalid; an account has this
            address, or a person of another account has proven it (code ``owner_exists``).
    """
    address = normalised_email(email)
    _check_password(password)
    check_timezone(timezone)
    if repository.find_owner(session, address) is not None:
        raise InvalidInputError(f"an account for {address} already exists", code="owner_exists")
    password_hash = credentials.hash_password(password, repository.password_like(session, address))
    person = repository.insert_owner(session, address, password_hash, timezone)
    # The server administrator vouches for the address.
    if not repository.prove_email(session, person):
        raise InvalidInputError(
            f"{address} belongs to a person of another account", code="owner_exists"
        )
    owner_id = person.owner_id
    if credits:
        credits_repository.insert_entry(
            session, owner_id, delta=credits, kind=EntryKind.GRANT, reason="initial credits"
        )
    return owner_by_email(session, address)


def owner_by_email(session: Session, email: str) -> OwnerAccount:
    """Return the account with an email address.

    Raises:
        InvalidInputError: no account has this address (code ``unknown_owner``).
    """
    address = normalised_email(email)
    owner = repository.find_owner(session, address)
    if owner is None:
        raise InvalidInputError(f"no account has the email address {address}", code="unknown_owner")
    return owner


def named_person(session: Session, email: str, account: str | None = None) -> Person:
    """Return the person with an email address, in the account with the address ``account``.

    Without ``account``, return the person who has proven the address, or the only person with it.

    Raises:
        InvalidInputError: no person has the address (code ``unknown_owner``), or several people
            have claimed the address and none has proven it (code ``ambiguous_email``).
    """
    address = normalised_email(email)
    people = repository.list_people_by_email(session, address)
    if account is not None:
        owner_id = owner_by_email(session, account).id
        people = [person for person in people if person.owner_id == owner_id]
    if not people:
        raise InvalidInputError(f"no person has the email address {address}", code="unknown_owner")
    if len(people) > 1 and not people[0].email_proven:
        raise InvalidInputError(
            f"{address} is used in several accounts: specify one with --account",
            code="ambiguous_email",
        )
    return people[0]


def change_password(
    session: Session, *, email: str, password: str, account: str | None = None
) -> OwnerAccount:
    """Change a person's password and end their sessions. API keys stay valid.

    The person is found with :func:`named_person`. Return the person's account.

    Raises:
        InvalidInputError: no person or several people match, or the password is invalid.
    """
    person = named_person(session, email, account)
    _check_password(password)
    like = person.password_hash or repository.password_like(session, person.email)
    repository.set_password(session, person, credentials.hash_password(password, like))
    return repository.get_owner(session, person.owner_id)


def create_key(
    session: Session,
    owner_id: UUID,
    *,
    name: str,
    scopes: frozenset[Scope],
    enabled: bool = True,
    expires_at: datetime | None = None,
    ancestors: tuple[UUID, ...] = (),
) -> NewKey:
    """Create an API key. The plain key is returned, but not stored.

    ``ancestors`` are the IDs of the keys from which this key descends, direct parent first.

    Raises:
        InvalidInputError: the name is empty or too long.
    """
    if not 0 < len(name.strip()) <= MAX_KEY_NAME_CHARACTERS:
        raise InvalidInputError(
            f"the key's name must have 1 to {MAX_KEY_NAME_CHARACTERS} characters"
        )
    plain = credentials.new_api_key()
    key = ApiKey(
        owner_id=owner_id,
        name=name.strip(),
        key_hash=credentials.key_hash(plain),
        prefix=credentials.shown_prefix(plain),
        scopes=sorted(scopes),
        enabled=enabled,
        expires_at=expires_at,
        ancestors=list(ancestors),
    )
    return NewKey(key_repository.insert_key(session, key), plain)


def normalised_email(email: str) -> str:
    """Return an email address in the form in which addresses are stored and compared.

    Raises:
        InvalidInputError: the text is not a valid email address.
    """
    address = email.strip().lower()
    if not _EMAIL.match(address):
        raise InvalidInputError("the email address is invalid", code="invalid_email")
    return address


def check_timezone(name: str) -> None:
    """Raise :class:`InvalidInputError` if ``name`` is not an IANA time zone."""
    if name not in available_timezones():
        raise InvalidInputError(f"unknown time zone {name!r}", code="unknown_timezone")


def _check_password(password: str) -> None:
    fault = credentials.password_fault(password)
    if fault is not None:
        raise InvalidInputError(f"the password {fault}", code="invalid_password")
