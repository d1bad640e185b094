"""Stores links between people and identities at the provider in PostgreSQL."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from api.accounts.repository import NO_PASSWORD, lock_owner, prove_email, set_password
from api.actors import announce_person
from api.db.people_tables import Person
from api.errors import ApiError, ErrorCode
from api.oidc.flow import Identity


def find_bound(session: Session, identity: Identity) -> Person | None:
    """Return the person linked to this identity, or None if no person is linked."""
    return session.scalar(
        select(Person).where(
            Person.oidc_issuer == identity.issuer, Person.oidc_subject == identity.subject
        )
    )


def bind(session: Session, person_id: UUID, identity: Identity, started: float) -> Person:
    """Link a person to this identity, and return the person.

    The first link removes the person's password and ends their sessions: unlike the identity, the
    password never proved who owns the address. The login started at ``started`` (Unix s).

    Raises:
        ApiError: 400, the person was unlinked after ``started``; 403, the person was removed, is
            disabled, or is linked to another identity at the provider.
    """
    person = _locked(session, person_id)
    if not person.enabled:
        raise ApiError(ErrorCode.PERSON_SWITCHED_OFF)
    if person.oidc_issuer == identity.issuer and person.oidc_subject != identity.subject:
        # Email addresses can be reassigned; subjects cannot.
        raise ApiError(ErrorCode.BOUND_TO_ANOTHER)
    if person.oidc_unlinked_at is not None and started <= person.oidc_unlinked_at.timestamp():
        raise ApiError(ErrorCode.LOG_IN_EXPIRED)
    announce_person(session, person.id, person.email)
    if person.email == identity.email:
        prove_email(session, person)
    # A single update adds only one entry to the audit log.
    with session.no_autoflush:
        if person.oidc_subject is None and person.has_password:
            set_password(session, person, NO_PASSWORD)
        person.oidc_issuer, person.oidc_subject = identity.issuer, identity.subject
    session.flush()
    return person


def _locked(session: Session, person_id: UUID) -> Person:
    """Lock a person's account, then return the person's current state."""
    person = session.get(Person, person_id)
    if person is not None:
        lock_owner(session, person.owner_id)
        person = session.get(Person, person_id, populate_existing=True)
    if person is None:
        raise ApiError(ErrorCode.UNKNOWN_PERSON)
    return person
