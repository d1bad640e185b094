"""Manages invitations: links with which one person can join an account for a limited time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from sqlalchemy.orm import Session

from api.accounts.repository import lock_owner, password_like, prove_email, require_owner
from api.actors import announce_person
from api.db.database import Database
from api.db.people_tables import Invitation, Person
from api.errors import ApiError, ErrorCode, require_found
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
    """A new invitation, with the token for the administrator.

    The email contains a different token, which the administrator never gets.
    """

    invitation: Invitation
    token: str
    emailed: EmailedLink


INVITATION_HOURS = 72


class Invitations:
    """Creates, lists, revokes, accepts and expires invitations."""

    def __init__(
        self,
        database: Database,
        sessions: Sessions,
        failures: FailedAuthentications,
        limits: OwnerLimits,
        settings: ApiSettings,
    ) -> None:
        """``failures`` also counts failed logins through the identity provider."""
        self._database = database
        self._sessions = sessions
        self._failures = failures
        self._limits = limits
        self._lifetime = timedelta(hours=INVITATION_HOURS)
        self._email = InvitationEmail(settings)

    async def list_all(self, owner_id: UUID) -> Sequence[Invitation]:
        """Return the account's open invitations, newest first."""
        return await self._database.run(
            lambda session: repository.list_invitations(session, owner_id)
        )

    async def invite(self, caller: Principal, email: str, role: Role) -> NewInvitation:
        """Invite an address, replacing an earlier invitation. Send an email if SMTP is configured.

        The result does not reveal whether other accounts use the address.

        Raises:
            ApiError: 409, the account has a person with this address, or has reached its limit.
        """
        token, emailed = credentials.new_session_token(), credentials.new_session_token()
        row = Invitation(
            owner_id=caller.owner_id,
            email=email.lower(),
            role=role.value,
            token_hash=credentials.token_hash(token),
            emailed_token_hash=credentials.token_hash(emailed) if self._email.is_on else None,
            invited_by=caller.require_person().email,
            expires_at=datetime.now(UTC) + self._lifetime,
        )
        timezone = await self._database.run(lambda session: self._insert(session, caller, row))
        return NewInvitation(row, token, await self._email.send(row, emailed, timezone))

    async def revoke(self, caller: Principal, invitation_id: UUID) -> None:
        """Revoke an invitation.

        Raises:
            ApiError: 404, the account has no such invitation.
        """

        def work(session: Session) -> bool:
            lock_as_administrator(session, caller)
            return repository.delete_invitation(session, caller.owner_id, invitation_id)

        require_found(await self._database.run(work))

    async def find(self, token: str, address: str) -> Invitation:
        """Return the invitation with this token. Invalid tokens count as failures of ``address``.

        Raises:
            ApiError: 404, the token is invalid; 429, the address has too many failures.
        """
        await self._failures.check(address)
        digest = credentials.token_hash(token)
        known = await self._database.run(
            lambda session: repository.find_invitation(session, digest)
        )
        if known is None:
            await self._failures.record(address)
            raise ApiError(ErrorCode.INVITATION_OVER)
        return known

    async def accept(self, token: str, name: str, password: str, address: str) -> Person:
        """Accept an invitation and create the person. The emailed token also verifies the address.

        The result does not reveal whether other accounts use the address.

        Raises:
            ApiError: 403, password login is disabled; 404, the token is invalid or used; 409, a
                person of this account has the address; 429, the address has too many failures.
        """
        self._sessions.methods.require_password()
        email = (await self.find(token, address)).email
        like = await self._database.run(lambda session: password_like(session, email))
        password_hash = await self._sessions.in_thread(
            lambda text: credentials.hash_password(text, like), password
        )
        return await self._database.run(
            lambda session: _accept(session, token, name, password_hash)
        )

    async def sweep(self) -> int:
        """Delete expired invitations, and return their number."""
        now = datetime.now(UTC)
        return await self._database.run(
            lambda session: repository.delete_expired_invitations(session, now)
        )

    def _insert(self, session: Session, caller: Principal, row: Invitation) -> str:
        """Insert an invitation, and return the account's time zone."""
        lock_as_administrator(session, caller)
        if repository.find_in_account(session, caller.owner_id, row.email) is not None:
            raise ApiError(ErrorCode.PERSON_EXISTS)
        repository.delete_invitation_to(session, caller.owner_id, row.email)
        owner = require_owner(session, caller.owner_id)
        wanted = repository.count_people(session, caller.owner_id) + 1
        self._limits.require(OwnerLimit.PEOPLE, caller.owner_id, owner.limits, wanted)
        session.add(row)
        session.flush()
        session.refresh(row)
        return owner.timezone


def require_invitation(session: Session, token: str) -> Invitation:
    """Return the invitation with this token, after locking the account.

    Raises:
        ApiError: 404, the token is invalid.
    """
    digest = credentials.token_hash(token)
    known = repository.find_invitation(session, digest)
    if known is not None:
        lock_owner(session, known.owner_id)
        # Another request may have used the invitation before the lock.
        known = repository.find_invitation(session, digest)
    if known is None:
        raise ApiError(ErrorCode.INVITATION_OVER)
    return known


def accept_invitation(
    session: Session, open_one: Invitation, name: str, password_hash: str
) -> Person:
    """Create the person for an invitation from :func:`require_invitation`; delete the invitation.

    Raises:
        ApiError: 409, a person of the account has the address.
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
    if not repository.insert_person(session, person):
        raise ApiError(ErrorCode.PERSON_EXISTS)
    session.delete(open_one)
    session.flush()
    return person


def _accept(session: Session, token: str, name: str, password_hash: str) -> Person:
    open_one = require_invitation(session, token)
    is_emailed = open_one.emailed_token_hash == credentials.token_hash(token)
    person = accept_invitation(session, open_one, name, password_hash)
    if is_emailed:
        prove_email(session, person)
    return person
