"""Invitations: a link, good for one person and for some days."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from sqlalchemy.orm import Session

from api.accounts.repository import find_person, lock_owner, require_owner
from api.db.actors import announce_person
from api.db.database import Database
from api.db.people_tables import Invitation, Person
from api.errors import ApiError, ErrorCode
from api.limits.limiter import FailedAuthentications
from api.limits.owner_limits import OwnerLimit, OwnerLimits
from api.people import repository
from api.people.invitation_email import EmailedLink, InvitationEmail
from api.people.service import lock_as_administrator
from api.security import credentials
from api.security.permissions import Principal, Role
from api.sessions.service import Sessions
from api.settings import ApiSettings


@dataclass(frozen=True, repr=False)
class NewInvitation:
    """An invitation just made: the only moment at which its token exists."""

    invitation: Invitation
    token: str
    emailed: EmailedLink


@dataclass(frozen=True, repr=False)
class Acceptance:
    """What the invited send: the token of their link, their name and a password."""

    token: str
    name: str
    password: str


@dataclass(frozen=True)
class InvitationRules:
    """How long a link is good, and what brings it to whom it invites."""

    lifetime: timedelta
    email: InvitationEmail


def invitation_rules(settings: ApiSettings) -> InvitationRules:
    """Return the operator's rules."""
    return InvitationRules(timedelta(hours=settings.invitation_hours), InvitationEmail(settings))


class Invitations:
    """The invitations of all accounts."""

    def __init__(
        self,
        database: Database,
        sessions: Sessions,
        failures: FailedAuthentications,
        limits: OwnerLimits,
        rules: InvitationRules,
    ) -> None:
        """``failures`` are counted with those of keys."""
        self._database = database
        self._sessions = sessions
        self._failures = failures
        self._limits = limits
        self._rules = rules

    async def all_of(self, owner_id: UUID) -> Sequence[Invitation]:
        """Return the account's open invitations, newest first."""
        return await self._database.run(
            lambda session: repository.list_invitations(session, owner_id)
        )

    async def invite(self, caller: Principal, email: str, role: Role) -> NewInvitation:
        """Invite an address, by e-mail where that can be; a former invitation of it is over.

        Raises:
            ApiError: 409, the address is one of the account's people, or the limit.
        """
        token = credentials.new_session_token()
        row, timezone = await self._database.run(
            lambda session: self._insert(session, caller, email.lower(), role, token)
        )
        return NewInvitation(row, token, await self._rules.email.send(row, token, timezone))

    async def revoke(self, caller: Principal, invitation_id: UUID) -> None:
        """Take an invitation back.

        Raises:
            ApiError: 404.
        """

        def work(session: Session) -> bool:
            lock_as_administrator(session, caller)
            return repository.delete_invitation(session, caller.owner_id, invitation_id)

        if not await self._database.run(work):
            raise ApiError(ErrorCode.NOT_FOUND)

    async def find(self, token: str, address: str) -> Invitation:
        """Return the invitation of a link; one that is not good counts as a failure of ``address``.

        Raises:
            ApiError: 404; 429, too much has failed from the address.
        """
        await self._failures.check(address)
        digest = credentials.token_hash(token)
        known = await self._database.run(
            lambda session: repository.find_invitation(session, digest)
        )
        if known is None:
            await self._failures.note(address)
            raise ApiError(ErrorCode.INVITATION_OVER)
        return known

    async def accept(self, acceptance: Acceptance, address: str) -> Person:
        """Make the invited a person of the account, once.

        Raises:
            ApiError: 404, also for a link that was used; 409, somebody logs in with the address
                already; 429; 403, nobody logs in with a password.
        """
        self._sessions.ways.require_password()
        await self.find(acceptance.token, address)
        password_hash = await self._sessions.in_thread(
            credentials.hash_password, acceptance.password
        )
        return await self._database.run(
            lambda session: accept_invitation(
                session,
                require_invitation(session, acceptance.token),
                acceptance.name,
                password_hash,
            )
        )

    async def sweep(self) -> int:
        """Forget invitations that have expired; return how many there were."""
        now = datetime.now(UTC)
        return await self._database.run(
            lambda session: repository.delete_expired_invitations(session, now)
        )

    def _insert(
        self, session: Session, caller: Principal, email: str, role: Role, token: str
    ) -> tuple[Invitation, str]:
        """Return the invitation, and the account's time zone."""
        lock_as_administrator(session, caller)
        person = find_person(session, email)
        # Of another account nothing is told here: the invited will hear of it.
        if person is not None and person.owner_id == caller.owner_id:
            raise ApiError(ErrorCode.PERSON_EXISTS)
        repository.delete_invitation_to(session, caller.owner_id, email)
        owner = require_owner(session, caller.owner_id)
        wanted = repository.count_people(session, caller.owner_id) + 1
        self._limits.require(OwnerLimit.PEOPLE, caller.owner_id, owner.limits, wanted)
        row = Invitation(
            owner_id=caller.owner_id,
            email=email,
            role=role.value,
            token_hash=credentials.token_hash(token),
            invited_by=caller.require_person().email,
            expires_at=datetime.now(UTC) + self._rules.lifetime,
        )
        session.add(row)
        session.flush()
        session.refresh(row)
        return row, owner.timezone


def require_invitation(session: Session, token: str) -> Invitation:
    """Return the open invitation of a link, its account locked.

    Raises:
        ApiError: 404.
    """
    digest = credentials.token_hash(token)
    known = repository.find_invitation(session, digest)
    if known is not None:
        lock_owner(session, known.owner_id)
        # It may have been used while somebody else had the lock.
        known = repository.find_invitation(session, digest)
    if known is None:
        raise ApiError(ErrorCode.INVITATION_OVER)
    return known


def accept_invitation(
    session: Session, open_one: Invitation, name: str, password_hash: str
) -> Person:
    """Make the invited a person of the account, by what :func:`require_invitation` returned.

    Raises:
        ApiError: 409, somebody logs in with the address already.
    """
    person = Person(
        id=uuid4(),
        owner_id=open_one.owner_id,
        email=open_one.email,
        name=name,
        role=open_one.role,
        password_hash=password_hash,
    )
    announce_person(session, person.id, person.email)
    if not repository.add_person(session, person):
        raise ApiError(ErrorCode.PERSON_EXISTS)
    session.delete(open_one)
    session.flush()
    return person
