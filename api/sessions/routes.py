"""``/api/session``."""

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
    """The credentials of a log-in."""

    email: Annotated[
        CleanText, Field(min_length=1, max_length=MAX_EMAIL_CHARACTERS, examples=["me@example.com"])
    ] = Field(description="E-mail address.")
    password: Annotated[str, Field(min_length=1, max_length=MAX_PASSWORD_CHARACTERS)] = Field(
        description="The password.", examples=["correct horse battery staple"]
    )


class CredentialKind(StrEnum):
    """What a caller shows: the cookie of a session or an API key."""

    SESSION = "session"
    KEY = "key"


class PersonShown(ResponseModel):
    """Who logged in."""

    id: UUID = Field(description="Id of the person.")
    email: str = Field(description="The address they log in with.", examples=["ana@example.com"])
    name: str = Field(description="Their name; empty where they gave none.", examples=["Ana"])
    role: Role = Field(description="What they may do.")
    has_password: bool = Field(
        description="Whether they have a password; who has none logs in by the provider alone."
    )


class SessionBody(ResponseModel):
    """The caller: account, rights, and when the credential ends."""

    kind: CredentialKind = Field(description="Whether a session calls or an API key.")
    credential_id: UUID = Field(description="Id of the session or the key.")
    owner_id: UUID = Field(description="Id of the account, the `userId` of its recognitions.")
    email: str = Field(description="The account's e-mail address.", examples=["me@example.com"])
    person: PersonShown | None = Field(description="Who logged in; null for a key.")
    timezone: str = Field(
        description="IANA time zone of the account: of its reports, and of alerts without one of"
        " their own.",
        examples=["Europe/Lisbon"],
    )
    scopes: list[Scope] = Field(
        description="What the caller may do; a session has the scopes of its person's role."
    )
    expires_at: Timestamp | None = Field(
        description="When the credential ends; null for a key without an end."
    )
    limits: dict[str, int] = Field(
        description="The account's limits by name.",
        examples=[{"cameras": 1000, "alerts": 200, "requestsPerMinute": 1000}],
    )


class SessionAnswer(ResponseModel):
    """The caller of this session or key; a session's token is in the cookie alone."""

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
    """The fields of one's own account to change; those left out stay."""

    timezone: TimeZone = Field(
        default="", description="IANA time zone of reports, and of alerts without one of their own."
    )
    current_password: Annotated[str, Field(min_length=1, max_length=MAX_PASSWORD_CHARACTERS)] = (
        Field(
            default="",
            description="Needed with `newPassword`.",
            examples=["the password until now"],
        )
    )
    new_password: NewPassword = Field(
        default="",
        description="All other sessions end with it; keys stay.",
        examples=["a better password than that"],
    )

    @model_validator(mode="after")
    def _both_passwords(self) -> "AccountUpdate":
        sent = self.model_fields_set
        if "new_password" in sent and "current_password" not in sent:
            raise ValueError("currentPassword is required with newPassword")
        return self


class OpenSession(ResponseModel):
    """A session that is open."""

    id: UUID = Field(description="Id of the session.")
    created_at: Timestamp = Field(description="When somebody logged in.")
    expires_at: Timestamp = Field(description="When it ends by itself.")
    is_current: bool = Field(description="Whether it is the one that calls.")


class SessionList(ResponseModel):
    """The person's sessions, newest first."""

    sessions: list[OpenSession] = Field(description="The account's sessions.")


class LogInWaysAnswer(ResponseModel):
    """How people may log in."""

    password: bool = Field(description="Whether by e-mail address and password.")
    provider: str | None = Field(
        description="Name of the OpenID Connect provider by which they may; null: there is none.",
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
                "description": f"The cookie {SECURE_PREFIX}{SESSION_COOKIE} over HTTPS: HttpOnly, "
                f"SameSite=Lax, Secure. Over plain HTTP it is {SESSION_COOKIE}, without Secure. A "
                "second one, "
                f"{DEVICE_COOKIE}, opens nothing: attempts to log in that bring it are counted by "
                "themselves.",
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
    """Log in with e-mail address and password; the answer sets the session cookie."""
    check_origin(request, required=False)
    made = await sessions.log_in(
        body.email, body.password, rate_limit_address(request), request.cookies.get(DEVICE_COOKIE)
    )
    set_session(request, response, made)
    return session_answer(made.credential)


@router.get(f"{SESSION_PATH}/ways", summary="How people log in", responses=error_responses())
@requires(Public.ANYBODY)
async def get_ways(sessions: SessionsDep) -> LogInWaysAnswer:
    """Return by what people may log in, for a page on which they do."""
    return LogInWaysAnswer(password=sessions.methods.password, provider=sessions.methods.provider)


@router.get(SESSION_PATH, summary="Who calls", responses=error_responses())
@requires(AnyCaller.KNOWN)
async def get_session(sessions: SessionsDep, response: Response, caller: Caller) -> SessionAnswer:
    """Return the account, the scopes and the limits of the session or the key that calls."""
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
    """End the session that the cookie stands for."""
    await sessions.log_out(caller.credential_id)
    delete_session(request, response)


@router.get("/api/sessions", summary="List sessions", responses=error_responses())
@requires(OwnSession.ONLY)
async def list_sessions(account: AccountDep, caller: Caller) -> SessionList:
    """Return the open sessions of the person who calls, newest first."""
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
    """End one of one's own sessions: within a second it opens nothing."""
    await account.end(caller, id)


@router.put("/api/account", summary="Change the account", responses=error_responses(*BODY_ERRORS))
@requires(OwnSession.ONLY, BodyKind.JSON)
async def update_account(
    request: Request, account: AccountDep, caller: Caller, body: AccountUpdate
) -> SessionAnswer:
    """Change one's own password or, as an administrator, the account's time zone.

    Schedules of alerts without a time zone of their own are read in the new one within a second.
    """
    changed = await account.change(
        caller,
        rate_limit_address(request),
        request.cookies.get(DEVICE_COOKIE),
        **body.model_dump(exclude_unset=True),
    )
    return session_answer(changed)
