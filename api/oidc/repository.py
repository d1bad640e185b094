"""Who a person is at the provider, in PostgreSQL."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from api.accounts.repository import NO_PASSWORD, lock_owner, set_password
from api.db.actors import announce_person
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


def bind(session: Session, person: Person, identity: Identity) -> None:
    """Have a person log in with this identity from now on.

    At the first time their password and sessions end: whoever has set it, such as somebody who
    invited the address and followed the link, has not proven to have the address.

    Raises:
        ApiError: 403, the person is switched off, or another of the provider's people already.
    """
    lock_owner(session, person.owner_id)
    session.refresh(person)
    if not person.enabled:
        raise ApiError(ErrorCode.PERSON_SWITCHED_OFF)
    if person.oidc_issuer == identity.issuer and person.oidc_subject != identity.subject:
        # Addresses are given to others, subjects never.
        raise ApiError(ErrorCode.BOUND_TO_ANOTHER)
    announce_person(session, person.id, person.email)
    # One change, and one entry in the audit log.
    with session.no_autoflush:
        if person.oidc_subject is None and person.has_password:
            set_password(session, person, NO_PASSWORD)
        person.oidc_issuer, person.oidc_subject = identity.issuer, identity.subject
    session.flush()
