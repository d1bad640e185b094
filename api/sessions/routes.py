"""Routes of ``/api/session``, ``/api/sessions`` and ``/api/account``."""

from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field, model_validator
from pydantic.alias_generators import to_camel

from api.deps import Caller, ResourceId, service
from api.errors import ErrorCode
from api.middleware.guard import GuardedRoute, rate_limit_address
from api.middleware.transport import SECURE_PREFIX, check_origin
from api.openapi import BODY_ERRORS, error_responses
from api.schemas import CleanText, NewPassword, RequestModel, ResponseModel, Timestamp, TimeZone
from api.security.credentials import MAX_PASSWORD_CHARACTERS
from api.security.devices import DEVICE_COOKIE
from api.security.permissions import (
    SESSION_COOKIE,
    AddressLimit,
    AnyCaller,
    BodyKind,
    OwnSession,
    Public,
    Role,
    Scope,
    requires,
)
from api.sessions.account import OwnAccount
from api.sessions.cookies import SESSION_PATH, delete_session, set_session
from api.sessions.credential import Credential
from api.sessions.service import Sessions
from api.validation.fields import MAX_EMAIL_CHARACTERS


class LogIn(RequestModel):
    """Login credentials."""

    email: Annotated[
        CleanText, Field(min_length=1, max_length=MAX_EMAIL_CHARACTERS, examples=["me@example.com"])
    ] = Field(description="Email address.")
    password: Annotated[str, Field(min_length=1, max_length=MAX_PASSWORD_CHARACTERS)] = Field(
        description="The password.", examples=["correct horse battery staple"]
    )


class CredentialKind(StrEnum):
    """Credential type: a session cookie or an API key."""

    SESSION = "session"
    KEY = "key"


class PersonShown(ResponseModel):
    """The person who logged in."""

    id: UUID = Field(description="ID of the person.")
    email: str = Field(description="Login email address.", examples=["ana@example.com"])
    name: str = Field(description="Name of the person; empty if not given.", examples=["Ana"])
    role: Role = Field(description="Role of the person.")
    has_password: bool = Field(
        description="Whether the person has a password. A person without one logs in through "
        "the identity provider only."
    )


class SessionBody(ResponseModel):
    """The caller: account, permissions and expiry."""

    kind: CredentialKind = Field(description="Credential type: a session or an API key.")
    credential_id: UUID = Field(description="ID of the session or API key.")
    owner_id: UUID = Field(description="ID of the account; the `userId` of its recognitions.")
    email: str = Field(description="Email address of the account.", examples=["me@example.com"])
    person: PersonShown | None = Field(description="The person who logged in; null for an API key.")
    timezone: str = Field(
        description="IANA time zone of the account, used for reports and for alerts without "
        "their own time zone.",
        examples=["Europe/Lisbon"],
    )
    scopes: list[Scope] = Field(description="Scopes of the API key, or of the person's role.")
    expires_at: Timestamp | None = Field(
        description="Expiry time of the credential (UTC); null for an API key that does not expire."
    )
    limits: dict[str, int] = Field(
        description="Limits of the account, by name.",
        examples=[{"cameras": 1000, "alerts": 200, "requestsPerMinute": 1000}],
    )


class SessionAnswer(ResponseModel):
    """The current caller. The session token itself is only in the cookie."""

    session: SessionBody = Field(description="The session.")


def session_answer(credential: Credential) -> SessionAnswer:
    """Return the JSON form of a credential."""
    owner = credential.owner
    person = credential.person
    kind = CredentialKind.KEY if person is None else CredentialKind.SESSION
    return SessionAnswer(
        session=SessionBody(
            kind=kind,
            credential_id=credential.id,
            owner_id=owner.id,
            email=owner.email,
            person=None if person is None else PersonShown.model_validate(vars(person)),
            timezone=owner.timezone,
            scopes=sorted(credential.scopes),
            expires_at=credential.expires_at,
            limits={to_camel(name): size for name, size in credential.limits.items()},
        )
    )


class AccountUpdate(RequestModel):
    """Fields of the account to update. Omitted fields keep their values."""

    timezone: TimeZone = Field(
        default="",
        description="IANA time zone for reports and for alerts without their own time zone.",
    )
    current_password: Annotated[str, Field(min_length=1, max_length=MAX_PASSWORD_CHARACTERS)] = (
        Field(
            default="",
            description="Current password. Required with `newPassword`.",
            examples=["my current password"],
        )
    )
    new_password: NewPassword = Field(
        default="",
        description="New password. Changing the password ends the person's other sessions; API "
        "keys stay valid.",
        examples=["correct horse battery staple"],
    )

    @model_validator(mode="after")
    def _both_passwords(self) -> "AccountUpdate":
        sent = self.model_fields_set
        if "new_password" in sent and "current_password" not in sent:
            raise ValueError("currentPassword is required with newPassword")
        return self


class OpenSession(ResponseModel):
    """An open session."""

    id: UUID = Field(description="ID of the session.")
    created_at: Timestamp = Field(description="Login time (UTC).")
    expires_at: Timestamp = Field(description="Expiry time (UTC).")
    is_current: bool = Field(description="Whether this is the session making the call.")


class SessionList(ResponseModel):
    """The person's open sessions, newest first."""

    sessions: list[OpenSession] = Field(description="Sessions, newest first.")


class LogInWaysAnswer(ResponseModel):
    """The available login methods."""

    password: bool = Field(description="Whether login with email address and password is enabled.")
    provider: str | None = Field(
        description="Name of the OpenID Connect provider; null if none is configured.",
        examples=["Example"],
    )


router = APIRouter(route_class=GuardedRoute, tags=["Session"])

SessionsDep = Annotated[Sessions, Depends(service(Sessions))]
AccountDep = Annotated[OwnAccount, Depends(service(OwnAccount))]

COOKIES: dict[int | str, dict[str, Any]] = {
    200: {
        "headers": {
            "Set-Cookie": {
                "schema": {"type": "string"},
                "description": f"{SECURE_PREFIX}{SESSION_COOKIE} over HTTPS (HttpOnly, Secure, "
                f"SameSite=Lax); {SESSION_COOKIE}, without Secure, over plain HTTP. The second "
                f"cookie, {DEVICE_COOKIE}, grants no access: failed logins with it are counted "
                "separately.",
            }
        }
    }
}


@router.post(
    SESSION_PATH,
    summary="Log in",
    responses={**error_responses(*BODY_ERRORS, ErrorCode.PASSWORD_LOG_IN_OFF), **COOKIES},
)
@requires(Public.ANYBODY, BodyKind.JSON, limited_by_address=AddressLimit.LOG_IN)
async def log_in(
    request: Request, sessions: SessionsDep, response: Response, body: LogIn
) -> SessionAnswer:
    """Logs in with email address and password, and sets the session cookie."""
    check_origin(request, required=False)
    made = await sessions.log_in(
        body.email, body.password, rate_limit_address(request), request.cookies.get(DEVICE_COOKIE)
    )
    set_session(request, response, made)
    return session_answer(made.credential)


@router.get(f"{SESSION_PATH}/ways", summary="List login methods", responses=error_responses())
@requires(Public.ANYBODY)
async def get_ways(sessions: SessionsDep) -> LogInWaysAnswer:
    """Returns the login methods to offer on a login page."""
    return LogInWaysAnswer(password=sessions.methods.password, provider=sessions.methods.provider)


@router.get(SESSION_PATH, summary="Get the current session", responses=error_responses())
@requires(AnyCaller.KNOWN)
async def get_session(sessions: SessionsDep, response: Response, caller: Caller) -> SessionAnswer:
    """Returns the account, scopes and limits of the calling session or API key."""
    response.headers["Cache-Control"] = "no-store"
    return session_answer(await sessions.credential(caller))


@router.delete(
    SESSION_PATH,
    status_code=204,
    response_class=Response,
    summary="Log out",
    responses=error_responses(),
)
@requires(OwnSession.ONLY)
async def log_out(
    request: Request, sessions: SessionsDep, response: Response, caller: Caller
) -> None:
    """Ends the session identified by the cookie."""
    await sessions.log_out(caller.credential_id)
    delete_session(request, response)


@router.get("/api/sessions", summary="List sessions", responses=error_responses())
@requires(OwnSession.ONLY)
async def list_sessions(account: AccountDep, caller: Caller) -> SessionList:
    """Returns the caller's open sessions, newest first."""
    found = await account.list_all(caller)
    return SessionList(
        sessions=[
            OpenSession(
                id=one.id,
                created_at=one.created_at,
                expires_at=one.expires_at,
                is_current=one.id == caller.credential_id,
            )
            for one in found
        ]
    )


@router.delete(
    "/api/sessions/{id}",
    status_code=204,
    response_class=Response,
    summary="End a session",
    responses=error_responses(ErrorCode.NOT_FOUND),
)
@requires(OwnSession.ONLY)
async def end_session(account: AccountDep, caller: Caller, id: ResourceId) -> None:
    """Ends one of the caller's sessions within one second."""
    await account.end(caller, id)


@router.put("/api/account", summary="Update the account", responses=error_responses(*BODY_ERRORS))
@requires(OwnSession.ONLY, BodyKind.JSON)
async def update_account(
    request: Request, account: AccountDep, caller: Caller, body: AccountUpdate
) -> SessionAnswer:
    """Changes the caller's password or, for administrators, the account's time zone.

    Alert schedules without their own time zone use the new time zone within one second.
    """
    changed = await account.change(
        caller,
        rate_limit_address(request),
        request.cookies.get(DEVICE_COOKIE),
        **body.model_dump(exclude_unset=True),
    )
    return session_answer(changed)
