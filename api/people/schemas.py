"""Request and response bodies for people and invitations."""

from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field

from api.db.people_tables import Person
from api.people.invitations import NewInvitation
from api.schemas import (
    JsonBoolean,
    NameText,
    NewPassword,
    RequestModel,
    ResponseModel,
    Timestamp,
)
from api.security.permissions import Role
from api.validation.fields import check_email_address

MAX_NAME_CHARACTERS = 200
_MAX_TOKEN_CHARACTERS = 100

RoleField = Annotated[Role, Field(description="Role of the person.")]
TokenField = Annotated[
    str,
    Field(
        min_length=1,
        max_length=_MAX_TOKEN_CHARACTERS,
        description="Invitation token, from the link.",
    ),
]


class PersonUpdate(RequestModel):
    """Fields of a person to update. Omitted fields keep their values."""

    shown_only = frozenset(
        {"id", "email", "name", "createdAt", "lastLogInAt", "isSelf", "hasPassword", "identity"}
    )

    role: RoleField = Role.VIEWER
    enabled: JsonBoolean = Field(
        default=True, description="Whether the person can log in. False also ends their sessions."
    )


class ProviderIdentity(ResponseModel):
    """A person's identity at the OpenID Connect provider."""

    issuer: str = Field(
        description="Issuer URL of the provider.", examples=["https://login.example.com"]
    )
    subject: str = Field(description="ID of the person at the provider.", examples=["248289761001"])


class PersonBody(ResponseModel):
    """A person who can log in to the account."""

    id: UUID = Field(description="ID of the person.")
    email: str = Field(description="Login email address.", examples=["ana@example.com"])
    name: str = Field(description="Name of the person; empty if not given.", examples=["Ana"])
    role: RoleField
    enabled: bool = Field(description="Whether the person can log in.")
    is_self: bool = Field(description="Whether this is the caller.")
    has_password: bool = Field(description="Whether the person has a password.")
    identity: ProviderIdentity | None = Field(
        description="Identity at the OpenID Connect provider; null if no identity is linked."
    )
    created_at: Timestamp = Field(description="Creation time (UTC).")
    last_log_in_at: Timestamp | None = Field(description="Last login (UTC); null: never.")


class PersonAnswer(ResponseModel):
    """One person."""

    person: PersonBody = Field(description="The person.")


class PersonList(ResponseModel):
    """The account's people, newest first."""

    people: list[PersonBody] = Field(description="People who can log in to the account.")


def person_body(person: Person, caller_id: UUID) -> PersonBody:
    """Return the JSON form of a person, as shown to the person ``caller_id``."""
    return PersonBody(
        id=person.id,
        email=person.email,
        name=person.name,
        role=Role(person.role),
        enabled=person.enabled,
        is_self=person.id == caller_id,
        has_password=person.has_password,
        identity=identity_body(person),
        created_at=person.created_at,
        last_log_in_at=person.last_log_in_at,
    )


def identity_body(person: Person) -> ProviderIdentity | None:
    """Return the JSON form of a person's identity at the provider, or None if not linked."""
    if person.oidc_issuer is None or person.oidc_subject is None:
        return None
    return ProviderIdentity(issuer=person.oidc_issuer, subject=person.oidc_subject)


class InvitationCreate(RequestModel):
    """The person to invite, and their role."""

    email: Annotated[
        str, Field(examples=["ana@example.com"]), AfterValidator(check_email_address)
    ] = Field(description="Email address.")
    role: RoleField


class InvitationBody(ResponseModel):
    """A pending invitation."""

    id: UUID = Field(description="ID of the invitation.")
    email: str = Field(description="Email address.", examples=["ana@example.com"])
    role: RoleField
    invited_by: str = Field(
        description="Email address of the administrator who created the invitation.",
        examples=["ana@example.com"],
    )
    created_at: Timestamp = Field(description="Creation time (UTC).")
    expires_at: Timestamp = Field(description="Expiry time (UTC).")


class InvitationList(ResponseModel):
    """The account's pending invitations, newest first."""

    invitations: list[InvitationBody] = Field(description="Pending invitations, newest first.")


class NewInvitationAnswer(ResponseModel):
    """A new invitation. No other response contains the token."""

    invitation: InvitationBody = Field(description="The invitation.")
    token: str = Field(
        description="Token for accepting the invitation. Returned only once. An emailed "
        "invitation contains another token, which also verifies the address.",
        examples=["k3J9x0Q2vT7mB4n8"],
    )
    email_sent: bool = Field(
        description="Whether the invitation was sent by email. Requires an SMTP server "
        "(`PLATESTREAM_SMTP_HOST`)."
    )
    email_error: str | None = Field(
        description="Why the email was not sent; null if it was sent or no SMTP server is "
        "configured. The invitation is valid either way.",
        examples=["The SMTP server timed out after 10 s."],
    )


class InvitationToken(RequestModel):
    """The invitation token from the link."""

    token: TokenField = Field(examples=["k3J9x0Q2vT7mB4n8"])


class InvitationAcceptance(RequestModel):
    """Details of the person who accepts the invitation."""

    token: TokenField = Field(examples=["k3J9x0Q2vT7mB4n8"])
    name: Annotated[
        NameText, Field(min_length=1, max_length=MAX_NAME_CHARACTERS, examples=["Ana"])
    ] = Field(description="Name of the person.")
    password: NewPassword = Field(
        description="The password.", examples=["correct horse battery staple"]
    )


class OpenInvitation(ResponseModel):
    """An invitation as shown to the invited person."""

    email: str = Field(description="Email address.", examples=["ana@example.com"])
    role: RoleField
    invited_by: str = Field(
        description="Email address of the inviter.", examples=["ana@example.com"]
    )
    expires_at: Timestamp = Field(description="Expiry time (UTC).")


class OpenInvitationAnswer(ResponseModel):
    """The invitation that a link is for."""

    invitation: OpenInvitation = Field(description="The invitation.")


class AcceptedAnswer(ResponseModel):
    """The invitation was accepted. The person can now log in with this email address."""

    email: str = Field(description="Login email address.", examples=["ana@example.com"])


def new_invitation_answer(made: NewInvitation) -> NewInvitationAnswer:
    """Return the response for the administrator who created the invitation."""
    return NewInvitationAnswer(
        invitation=InvitationBody.model_validate(made.invitation),
        token=made.token,
        email_sent=made.emailed.is_sent,
        email_error=made.emailed.error,
    )
