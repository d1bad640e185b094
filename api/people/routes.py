"""Routes of ``/api/people`` and ``/api/invitations``."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from api.deps import Caller, ResourceId, service
from api.errors import ErrorCode
from api.middleware.guard import GuardedRoute, rate_limit_address
from api.middleware.transport import check_origin
from api.openapi import BODY_ERRORS, error_responses
from api.people.invitations import Invitations
from api.people.schemas import (
    AcceptedAnswer,
    InvitationAcceptance,
    InvitationBody,
    InvitationCreate,
    InvitationList,
    InvitationToken,
    NewInvitationAnswer,
    OpenInvitation,
    OpenInvitationAnswer,
    PersonAnswer,
    PersonList,
    PersonUpdate,
    new_invitation_answer,
    person_body,
)
from api.people.service import People
from api.security.permissions import AddressLimit, Administrator, BodyKind, Public, requires

router = APIRouter(route_class=GuardedRoute, tags=["People"])

PeopleDep = Annotated[People, Depends(service(People))]
InvitationsDep = Annotated[Invitations, Depends(service(Invitations))]


@router.get("/api/people", summary="List people", responses=error_responses())
@requires(Administrator.ONLY)
async def list_people(people: PeopleDep, caller: Caller) -> PersonList:
    """Returns the people who can log in to the account, newest first."""
    self_id = caller.require_person().id
    found = await people.list_all(caller.owner_id)
    return PersonList(people=[person_body(person, self_id) for person in found])


@router.put(
    "/api/people/{id}",
    summary="Update a person",
    responses=error_responses(*BODY_ERRORS, ErrorCode.NOT_FOUND, ErrorCode.LAST_ADMINISTRATOR),
)
@requires(Administrator.ONLY, BodyKind.JSON)
async def update_person(
    people: PeopleDep, caller: Caller, id: ResourceId, body: PersonUpdate
) -> PersonAnswer:
    """Changes a person's role or enabled state. Takes effect in open sessions within one second."""
    person = await people.change(caller, id, body.model_dump(exclude_unset=True))
    return PersonAnswer(person=person_body(person, caller.require_person().id))


@router.delete(
    "/api/people/{id}",
    status_code=204,
    response_class=Response,
    summary="Remove a person",
    responses=error_responses(ErrorCode.NOT_FOUND, ErrorCode.LAST_ADMINISTRATOR),
)
@requires(Administrator.ONLY)
async def remove_person(people: PeopleDep, caller: Caller, id: ResourceId) -> None:
    """Removes a person and ends their sessions within one second. API keys stay valid."""
    await people.remove(caller, id)


@router.delete(
    "/api/people/{id}/identity",
    status_code=204,
    response_class=Response,
    summary="Unlink a person from the identity provider",
    responses=error_responses(ErrorCode.NOT_FOUND, ErrorCode.LAST_ADMINISTRATOR),
)
@requires(Administrator.ONLY)
async def unbind_person(people: PeopleDep, caller: Caller, id: ResourceId) -> None:
    """Unlinks a person from the identity provider. Their sessions end within one second.

    At the next login through the provider, the person is matched by verified email address.
    """
    await people.unbind(caller, id)


@router.get("/api/invitations", summary="List invitations", responses=error_responses())
@requires(Administrator.ONLY)
async def list_invitations(invitations: InvitationsDep, caller: Caller) -> InvitationList:
    """Returns pending invitations, newest first."""
    found = await invitations.list_all(caller.owner_id)
    return InvitationList(invitations=list(map(InvitationBody.model_validate, found)))


@router.post(
    "/api/invitations",
    status_code=201,
    summary="Invite a person",
    responses=error_responses(*BODY_ERRORS, ErrorCode.PERSON_EXISTS, ErrorCode.LIMIT_REACHED),
)
@requires(Administrator.ONLY, BodyKind.JSON)
async def create_invitation(
    invitations: InvitationsDep, response: Response, caller: Caller, body: InvitationCreate
) -> NewInvitationAnswer:
    """Creates an invitation link for one person, replacing an earlier link for the address.

    The link is also sent by email if an SMTP server is configured.
    """
    made = await invitations.invite(caller, body.email, body.role)
    response.headers["Cache-Control"] = "no-store"
    return new_invitation_answer(made)


@router.delete(
    "/api/invitations/{id}",
    status_code=204,
    response_class=Response,
    summary="Revoke an invitation",
    responses=error_responses(ErrorCode.NOT_FOUND),
)
@requires(Administrator.ONLY)
async def revoke_invitation(invitations: InvitationsDep, caller: Caller, id: ResourceId) -> None:
    """Revokes an invitation. The link stops working."""
    await invitations.revoke(caller, id)


@router.post(
    "/api/invitations/find",
    summary="Get an invitation",
    responses=error_responses(*BODY_ERRORS, ErrorCode.INVITATION_OVER),
)
@requires(Public.ANYBODY, BodyKind.JSON, limited_by_address=AddressLimit.LOG_IN)
async def find_invitation(
    request: Request, invitations: InvitationsDep, body: InvitationToken
) -> OpenInvitationAnswer:
    """Returns the details of an invitation link."""
    check_origin(request, required=False)
    row = await invitations.find(body.token, rate_limit_address(request))
    return OpenInvitationAnswer(invitation=OpenInvitation.model_validate(row))


@router.post(
    "/api/invitations/accept",
    status_code=201,
    summary="Accept an invitation",
    responses=error_responses(
        *BODY_ERRORS,
        ErrorCode.INVITATION_OVER,
        ErrorCode.PERSON_EXISTS,
        ErrorCode.PASSWORD_LOG_IN_OFF,
    ),
)
@requires(Public.ANYBODY, BodyKind.JSON, limited_by_address=AddressLimit.LOG_IN)
async def accept_invitation(
    request: Request, invitations: InvitationsDep, body: InvitationAcceptance
) -> AcceptedAnswer:
    """Accepts an invitation with a name and a password. Each link works once."""
    check_origin(request, required=False)
    person = await invitations.accept(
        body.token, body.name, body.password, rate_limit_address(request)
    )
    return AcceptedAnswer(email=person.email)
