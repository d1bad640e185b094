"""Who a person is at the provider, in PostgreSQL."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from api.accounts.repository import NO_PASSWORD, lock_owner, prove_email, set_password
from api.actors import announce_person
from api.db.people_tables import Person
from api.errors import ApiError, ErrorCode
from api.oidc.flow import Identity


def find_bound(session: Session, identity: Identity) -> Person | None:
    """Return the person who logged in with this identity before."""
    return session.scalar(
        select(Person).where(
            Person.oidc_issuer == identity.issuer, Person.oidc_subject == identity.subject
        )
    )


def bind(session: Session, person_id: UUID, identity: Identity, started: float) -> Person:
    """Have a person log in with this identity from now on, and return the person.

    The first time, their password and sessions end: they may be of someone who has not proven to
    have the address. The identity proves it. ``started`` is when the login started.

    Raises:
        ApiError: 400, the person was unlinked since then; 403, the person was removed, is
            disabled, or has another identity at the provider.
    """
    person = _locked(session, person_id)
    if not person.enabled:
        raise ApiError(ErrorCode.PERSON_SWITCHED_OFF)
    if person.oidc_issuer == identity.issuer and person.oidc_subject != identity.subject:
        # Addresses are given to others, subjects never.
        raise ApiError(ErrorCode.BOUND_TO_ANOTHER)
    if person.oidc_unlinked_at is not None and started <= person.oidc_unlinked_at.timestamp():
        raise ApiError(ErrorCode.LOG_IN_EXPIRED)
    announce_person(session, person.id, person.email)
    if person.email == identity.email:
        prove_email(session, person)
    # One change, and one entry in the audit log.
    with session.no_autoflush:
        if person.oidc_subject is None and person.has_password:
            set_password(session, person, NO_PASSWORD)
        person.oidc_issuer, person.oidc_subject = identity.issuer, identity.subject
    session.flush()
    return person


def _locked(session: Session, person_id: UUID) -> Person:
    """Return a person as they are after their account was locked."""
    person = session.get(Person, person_id)
    if person is not None:
        lock_owner(session, person.owner_id)
        person = session.get(Person, person_id, populate_existing=True)
    if person is None:
        raise ApiError(ErrorCode.UNKNOWN_PERSON)
    return person
