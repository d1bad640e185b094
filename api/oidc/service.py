"""Logs people in through an OpenID Connect provider."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid4

import structlog
from sqlalchemy.orm import Session

from api.accounts.repository import NO_PASSWORD, OwnerAccount, find_owner, find_proven, lock_owner
from api.actors import Action, announce_person
from api.audit.actions import ActionSubject, current_action
from api.audit.audit_buffer import AuditBuffer
from api.db.people_tables import Person
from api.errors import ApiError, Dependency, DependencyUnavailableError, ErrorCode
from api.limits.fair_queue import FairQueue, QueueFullError, QueueLimits, current_caller
from api.limits.limiter import FailedAuthentications
from api.limits.owner_limits import OwnerLimit, OwnerLimits
from api.oidc.flow import Flow, FlowCookies, Identity, new_flow
from api.oidc.provider import IdentityProvider
from api.oidc.repository import bind, find_bound
from api.people.invitations import accept_invitation, require_invitation
from api.people.repository import count_people, find_in_account, find_invitation, insert_person
from api.people.schemas import MAX_NAME_CHARACTERS
from api.security.credentials import token_hash
from api.security.permissions import Role
from api.sessions.credential import NewSession
from api.sessions.service import Sessions
from api.settings import ApiSettings
from common.secrets import SecretBox

log = structlog.get_logger()

_RETURN_PATH: Final = "/log-in/oidc"
"""The console's page to which the provider redirects browsers."""

_CALLS: Final = QueueLimits(at_once=20, waiting=200, each=4)
_CALL_WAIT_SECONDS: Final = 10.0


@dataclass(frozen=True, repr=False)
class ProviderAnswer:
    """The parameters with which the provider redirected the browser. ``issuer`` is optional."""

    code: str
    state: str
    issuer: str | None


class OidcLogIn:
    """Logs people in through the identity provider, if the settings name a provider."""

    def __init__(
        self,
        settings: ApiSettings,
        sessions: Sessions,
        box: SecretBox,
        failures: FailedAuthentications,
        limits: OwnerLimits,
        audit: AuditBuffer,
    ) -> None:
        """Share ``failures`` with invitations. ``box`` encrypts cookies. ``audit`` gets denials."""
        self._settings = settings
        self._sessions = sessions
        self._cookies = FlowCookies(box)
        self._failures = failures
        self._limits = limits
        self._audit = audit
        self._provider: IdentityProvider | None = None
        if settings.oidc_issuer:
            redirect_url = settings.public_url.rstrip("/") + _RETURN_PATH
            self._provider = IdentityProvider(settings, redirect_url)
        # Calls to a slow provider are scheduled fairly among client networks.
        self._queue = FairQueue[Hashable](_CALLS)

    async def begin(self, invitation: str | None, address: str) -> tuple[str, str]:
        """Start a login. Return the provider URL and the cookie.

        ``invitation`` is the token of the invitation to accept.

        Raises:
            ApiError: 404, no provider is configured; 429, the address has too many failures.
            DependencyUnavailableError: the provider is not responding.
        """
        provider = self._required()
        await self._failures.check(address)
        flow = new_flow(invitation)
        return await provider.authorization_url(flow), self._cookies.cookie(flow)

    async def finish(
        self, answer: ProviderAnswer, cookie: str | None, address: str, device_cookie: str | None
    ) -> NewSession:
        """Complete a login. Return a session for the person that the provider authenticated.

        Raises:
            ApiError: 400, the login expired or another browser started it; 403, the person cannot
                log in; 404, no provider is configured, or the invitation is invalid; 409, the
                person exists, or the limit is reached; 429, the address has too many failures.
            DependencyUnavailableError: the provider is not responding.
        """
        provider = self._required()
        await self._failures.check(address)
        try:
            return await self._finished(provider, answer, cookie, device_cookie)
        except ApiError:
            await self._failures.record(address)
            raise

    def _required(self) -> IdentityProvider:
        if self._provider is None:
            raise ApiError(ErrorCode.NOT_FOUND)
        return self._provider

    async def _finished(
        self,
        provider: IdentityProvider,
        answer: ProviderAnswer,
        cookie: str | None,
        device_cookie: str | None,
    ) -> NewSession:
        flow = self._cookies.flow(cookie, answer.state)
        # **Source:** RFC 9207: a response from another issuer must be rejected.
        if flow is None or answer.issuer not in (None, self._settings.oidc_issuer):
            raise ApiError(ErrorCode.LOG_IN_EXPIRED)
        identity = await self._identity(provider, flow, answer.code)
        try:
            return await self._sessions.begin(
                lambda session: self._person(session, identity, flow), device_cookie
            )
        except ApiError as error:
            await self._record_refusal(identity, flow.invitation, error.code)
            raise

    async def _identity(self, provider: IdentityProvider, flow: Flow, code: str) -> Identity:
        try:
            async with self._queue.slot(current_caller(), _CALL_WAIT_SECONDS):
                return await provider.identity(flow, code)
        except QueueFullError as error:
            raise DependencyUnavailableError(
                Dependency.IDENTITY_PROVIDER, "is overloaded"
            ) from error

    async def _record_refusal(
        self, identity: Identity, invitation: str | None, code: ErrorCode
    ) -> None:
        """Add a denied login to the audit log of the account that the login was for, if known."""
        try:
            found = await self._sessions.database.run(
                lambda session: self._target(session, identity, invitation)
            )
        except DependencyUnavailableError:
            # The client still gets the error, and the failure is counted.
            log.warning("oidc_denial_not_audited", reason=code.value)
            return
        if found is not None:
            owner_id, subject = found
            details = {"reason": code.value, "email": identity.named_email or ""}
            self._audit.add(current_action(owner_id, Action.PROVIDER_REFUSED, subject, **details))

    def _target(
        self, session: Session, identity: Identity, invitation: str | None
    ) -> tuple[UUID, ActionSubject] | None:
        """Return the account and the person that a denied login was for, if known."""
        email = identity.named_email
        # Unproven addresses are left out, or the account would learn of other accounts' people.
        person = find_bound(session, identity) or (find_proven(session, email) if email else None)
        if person is not None:
            return person.owner_id, ActionSubject("person", person.id, person.email)
        open_one = None if invitation is None else find_invitation(session, token_hash(invitation))
        if open_one is not None:
            return open_one.owner_id, ActionSubject("person", None, open_one.email)
        owner = self._join_account(session)
        return None if owner is None else (owner.id, ActionSubject("person", None, email))

    def _person(self, session: Session, identity: Identity, flow: Flow) -> Person:
        self._check_domain(identity)
        known = _bound(session, identity)
        if known is not None:
            if not known.enabled:
                raise ApiError(ErrorCode.PERSON_SWITCHED_OFF)
            if flow.invitation is not None:
                raise ApiError(ErrorCode.PERSON_EXISTS)
            return known
        if identity.email is None:
            raise ApiError(ErrorCode.EMAIL_NOT_VERIFIED)
        if flow.invitation is not None:
            person = _invited(session, identity.email, identity.name, flow.invitation)
        else:
            person = self._of_address(session, identity.email, identity.name)
        return bind(session, person.id, identity, flow.started)

    def _of_address(self, session: Session, email: str, name: str) -> Person:
        """Return the person who has proven a verified address, or a person of the join account.

        In the join account, a missing person is created. In other accounts, a person who has not
        proven the address must not get the login of the address's owner. A disabled person with a
        proven address does not prevent the owner from joining.
        """
        proven = find_proven(session, email)
        if proven is not None and proven.enabled:
            return proven
        owner = self._join_account(session)
        if owner is not None:
            return find_in_account(session, owner.id, email) or self._joined(
                session, owner, email, name
            )
        if proven is not None:
            return proven
        if self._settings.oidc_join_account:
            log.warning("oidc_join_account_missing", account=self._settings.oidc_join_account)
        raise ApiError(ErrorCode.UNKNOWN_PERSON)

    def _check_domain(self, identity: Identity) -> None:
        domains = self._settings.oidc_email_domains
        if not domains:
            return
        if identity.email is None:
            raise ApiError(ErrorCode.EMAIL_NOT_VERIFIED)
        if identity.email.rpartition("@")[2] not in domains:
            raise ApiError(ErrorCode.EMAIL_DOMAIN_REFUSED)

    def _join_account(self, session: Session) -> OwnerAccount | None:
        named = self._settings.oidc_join_account.strip().lower()
        return find_owner(session, named) if named else None

    def _joined(self, session: Session, owner: OwnerAccount, email: str, name: str) -> Person:
        """Create a person in the join account."""
        own = lock_owner(session, owner.id).limits
        self._limits.require(OwnerLimit.PEOPLE, owner.id, own, count_people(session, owner.id) + 1)
        person = Person(
            id=uuid4(),
            owner_id=owner.id,
            email=email,
            name=_shown(name),
            role=Role(self._settings.oidc_join_role).value,
            password_hash=NO_PASSWORD,
        )
        announce_person(session, person.id, person.email)
        if not insert_person(session, person):
            raise ApiError(ErrorCode.PERSON_EXISTS)
        return person


def _bound(session: Session, identity: Identity) -> Person | None:
    """Lock the account of the person linked to the identity. Return the person if still linked."""
    found = find_bound(session, identity)
    if found is None:
        return None
    lock_owner(session, found.owner_id)
    # The person may have been unlinked, removed or disabled before the lock.
    session.expire(found)
    return find_bound(session, identity)


def _invited(session: Session, email: str, name: str, token: str) -> Person:
    open_one = require_invitation(session, token)
    if open_one.email != email:
        raise ApiError(ErrorCode.INVITATION_FOR_ANOTHER)
    return accept_invitation(session, open_one, _shown(name), NO_PASSWORD)


def _shown(name: str) -> str:
    return "".join(filter(str.isprintable, name)).strip()[:MAX_NAME_CHARACTERS]
