"""Stores people and invitations in PostgreSQL."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import delete, func, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from api.db.people_tables import Invitation, Person
from api.db.tables import newest_first
from api.security.permissions import Role
from api.security.repository import delete_sessions


def list_people(session: Session, owner_id: UUID) -> Sequence[Person]:
    """Return the people of an account, newest first."""
    return session.scalars(newest_first(Person, owner_id)).all()


def get_person(session: Session, owner_id: UUID, person_id: UUID) -> Person | None:
    """Return a person of the account, or None if the person does not exist."""
    return session.scalar(select(Person).where(Person.id == person_id, Person.owner_id == owner_id))


def has_other_administrator(session: Session, person: Person) -> bool:
    """Return whether the person's account (locked) has another enabled administrator."""
    others = select(Person.id).where(
        Person.owner_id == person.owner_id,
        Person.id != person.id,
        Person.role == Role.ADMINISTRATOR.value,
        Person.enabled,
    )
    return session.scalar(others.limit(1)) is not None


def administrator_addresses(session: Session, owner_id: UUID) -> Sequence[str]:
    """Return the email addresses of an account's enabled administrators."""
    return session.scalars(
        select(Person.email)
        .where(
            Person.owner_id == owner_id,
            Person.role == Role.ADMINISTRATOR.value,
            Person.enabled,
        )
        .order_by(Person.email)
    ).all()


def insert_person(session: Session, person: Person) -> bool:
    """Insert a person. Return False if a person of the same account has the address."""
    try:
        with session.begin_nested():
            session.add(person)
    except IntegrityError as error:
        constraint = getattr(getattr(error.orig, "diag", None), "constraint_name", None)
        if constraint == "uq_people_owner_id_email":
            return False
        raise
    return True


def delete_person(session: Session, person: Person) -> None:
    """Delete a person and their sessions."""
    session.execute(delete(Person).where(Person.id == person.id))


def unbind(session: Session, person: Person) -> list[UUID]:
    """Unlink a person from the provider, end their sessions and return the sessions' IDs.

    Logins through the provider that have already started are rejected. At the next login, the
    person is found by email address, if they have proven the address.
    """
    person.oidc_issuer, person.oidc_subject = None, None
    person.oidc_unlinked_at = datetime.now(UTC)
    session.flush()
    return delete_sessions(session, person.id)


def count_people(session: Session, owner_id: UUID) -> int:
    """Return the number of people in an account, including invited people."""
    people = select(func.count()).select_from(Person).where(Person.owner_id == owner_id)
    invited = select(func.count()).select_from(Invitation).where(Invitation.owner_id == owner_id)
    return (session.scalar(people) or 0) + (session.scalar(invited) or 0)


def list_invitations(session: Session, owner_id: UUID) -> Sequence[Invitation]:
    """Return the account's invitations that have not expired, newest first."""
    pending = newest_first(Invitation, owner_id).where(Invitation.expires_at > func.now())
    return session.scalars(pending).all()


def delete_invitation_to(session: Session, owner_id: UUID, email: str) -> None:
    """Delete an account's invitation to an email address, if any."""
    session.execute(
        delete(Invitation).where(Invitation.owner_id == owner_id, Invitation.email == email)
    )


def delete_invitation(session: Session, owner_id: UUID, invitation_id: UUID) -> bool:
    """Delete an invitation. Return False if the account has no such invitation."""
    deleted = session.scalar(
        delete(Invitation)
        .where(Invitation.id == invitation_id, Invitation.owner_id == owner_id)
        .returning(Invitation.id)
    )
    return deleted is not None


def find_invitation(session: Session, token_hash: bytes) -> Invitation | None:
    """Return the unexpired invitation of an administrator's or emailed token, or None."""
    is_of_token = or_(
        Invitation.token_hash == token_hash, Invitation.emailed_token_hash == token_hash
    )
    return session.scalar(select(Invitation).where(is_of_token, Invitation.expires_at > func.now()))


def find_in_account(session: Session, owner_id: UUID, email: str) -> Person | None:
    """Return the person with an email address (lower case) in an account, if any."""
    return session.scalar(select(Person).where(Person.owner_id == owner_id, Person.email == email))


def delete_expired_invitations(session: Session, now: datetime) -> int:
    """Delete expired invitations, and return their number."""
    expired = delete(Invitation).where(Invitation.expires_at <= now).returning(Invitation.id)
    return len(session.scalars(expired).all())
