"""JSON of people and invitations."""

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

RoleField = Annotated[Role, Field(description="What the person may do.")]
TokenField = Annotated[
    str,
    Field(
        min_length=1,
        max_length=_MAX_TOKEN_CHARACTERS,
        description="Token of the link, from the email or the administrator.",
    ),
]


class PersonUpdate(RequestModel):
    """The fields of a person to change; those left out stay."""

    shown_only = frozenset(
        {"id", "email", "name", "createdAt", "lastLogInAt", "isSelf", "hasPassword", "identity"}
    )

    role: RoleField = Role.VIEWER
    enabled: JsonBoolean = Field(
        default=True, description="False: cannot log in; open sessions end."
    )


class ProviderIdentity(ResponseModel):
    """Somebody as an OpenID Connect provider knows them."""

    issuer: str = Field(description="The provider.", examples=["https://login.example.com"])
    subject: str = Field(description="Its id of the person.", examples=["248289761001"])


class PersonBody(ResponseModel):
    """Somebody who logs in to the account."""

    id: UUID = Field(description="Id of the person.")
    email: str = Field(description="What they log in with.", examples=["ana@example.com"])
    name: str = Field(description="Empty where they gave none.", examples=["Ana"])
    role: RoleField
    enabled: bool = Field(description="Whether they may log in.")
    is_self: bool = Field(description="Whether it is the person who calls.")
    has_password: bool = Field(description="Whether they have a password here.")
    identity: ProviderIdentity | None = Field(
        description="Who they are at the OpenID Connect provider; null until they log in by it."
    )
    created_at: Timestamp = Field(description="When it was made; UTC.")
    last_log_in_at: Timestamp | None = Field(description="UTC; null: never.")


class PersonAnswer(ResponseModel):
    """One person."""

    person: PersonBody = Field(description="The person.")


class PersonList(ResponseModel):
    """The account's people, newest first."""

    people: list[PersonBody] = Field(description="The people of the account.")


def person_body(person: Person, caller_id: UUID) -> PersonBody:
    """Return the JSON form of a person for the one who calls."""
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
    """Return the JSON form of who a person is at the provider; None: nobody."""
    if person.oidc_issuer is None or person.oidc_subject is None:
        return None
    return ProviderIdentity(issuer=person.oidc_issuer, subject=person.oidc_subject)


class InvitationCreate(RequestModel):
    """Who is invited, and to what."""

    email: Annotated[
        str, Field(examples=["ana@example.com"]), AfterValidator(check_email_address)
    ] = Field(description="E-mail address.")
    role: RoleField


class InvitationBody(ResponseModel):
    """An invitation that nobody has accepted yet."""

    id: UUID = Field(description="Id of the invitation.")
    email: str = Field(description="E-mail address.", examples=["ana@example.com"])
    role: RoleField
    invited_by: str = Field(
        description="Address of the administrator who made it.", examples=["ana@example.com"]
    )
    created_at: Timestamp = Field(description="When it was made; UTC.")
    expires_at: Timestamp = Field(description="Not valid from then on; UTC. Null: it does not end.")


class InvitationList(ResponseModel):
    """The account's open invitations, newest first."""

    invitations: list[InvitationBody] = Field(description="The open invitations, newest first.")


class NewInvitationAnswer(ResponseModel):
    """An invitation just made, and the only sight of what opens it."""

    invitation: InvitationBody = Field(description="The invitation.")
    token: str = Field(
        description="Token that accepts it; shown this once. The email has another one, which "
        "proves the address.",
        examples=["k3J9x0Q2vT7mB4n8"],
    )
    email_sent: bool = Field(
        description="Whether the link went to the invited by e-mail: an SMTP server is in the API's"
        " settings (`PLATESTREAM_SMTP_HOST`), and took it."
    )
    email_error: str | None = Field(
        description="Why the e-mail did not go out; the invitation is good all the same. Null where"
        " it did, or where no server is set.",
        examples=["The mail server did not answer in time."],
    )


class InvitationToken(RequestModel):
    """The token of a link."""

    token: TokenField = Field(examples=["k3J9x0Q2vT7mB4n8"])


class InvitationAcceptance(RequestModel):
    """What the invited send."""

    token: TokenField = Field(examples=["k3J9x0Q2vT7mB4n8"])
    name: Annotated[
        NameText, Field(min_length=1, max_length=MAX_NAME_CHARACTERS, examples=["Ana"])
    ] = Field(description="Its name.")
    password: NewPassword = Field(
        description="The password.", examples=["correct horse battery staple"]
    )


class OpenInvitation(ResponseModel):
    """An invitation as the invited see it."""

    email: str = Field(description="E-mail address.", examples=["ana@example.com"])
    role: RoleField
    invited_by: str = Field(
        description="Address of the administrator who invites.", examples=["ana@example.com"]
    )
    expires_at: Timestamp = Field(description="Not valid from then on; UTC. Null: it does not end.")


class OpenInvitationAnswer(ResponseModel):
    """The invitation of a link."""

    invitation: OpenInvitation = Field(description="The invitation.")


class AcceptedAnswer(ResponseModel):
    """The invited is a person now, and logs in with this address."""

    email: str = Field(description="The address to log in with.", examples=["ana@example.com"])


def new_invitation_answer(made: NewInvitation) -> NewInvitationAnswer:
    """Return the answer to the administrator who made it."""
    return NewInvitationAnswer(
        invitation=InvitationBody.model_validate(made.invitation),
        token=made.token,
        email_sent=made.emailed.is_sent,
        email_error=made.emailed.error,
    )
