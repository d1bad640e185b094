"""``platestream owner people`` and ``owner unbind``: who logs in to an account, and by what."""

from typing import Any

from sqlalchemy.orm import Session

from api.accounts.repository import lock_owner
from api.accounts.service import named_person, owner_by_email
from api.cli.commands import JsonOption, answer
from api.cli.shared import AccountOption, EmailOption, in_database, shown_time
from api.db.people_tables import Person
from api.people.repository import list_people, unbind
from common.errors import InvalidInputError


def owner_people(email: EmailOption, as_json: JsonOption = False) -> None:
    """Show who logs in to an account, and whom the OpenID Connect provider knows, newest first."""

    def work(session: Session) -> list[dict[str, Any]]:
        owner = owner_by_email(session, email)
        return [_fields(person) for person in list_people(session, owner.id)]

    people = in_database(work)
    answer({"people": people}, as_json, "\n".join(_line(one) for one in people))


def owner_unbind(
    email: EmailOption, account: AccountOption = None, as_json: JsonOption = False
) -> None:
    """Forget who a person is at the OpenID Connect provider, and end their sessions.

    The address is that of any person of an account. At their next log-in by the provider they are
    known by their address, as at the first one.
    """

    def work(session: Session) -> dict[str, Any]:
        person = named_person(session, email, account)
        if person.oidc_subject is None:
            raise InvalidInputError(
                f"there is no {person.email} who logs in by a provider", code="not_bound"
            )
        lock_owner(session, person.owner_id)
        session.refresh(person)
        unbind(session, person)
        return _fields(person)

    person = in_database(work)
    answer(person, as_json, f"{person['email']} is bound to nobody at the provider")


def _fields(person: Person) -> dict[str, Any]:
    is_bound = person.oidc_subject is not None
    return {
        "id": str(person.id),
        "email": person.email,
        "emailProven": person.email_proven,
        "name": person.name,
        "role": person.role,
        "enabled": person.enabled,
        "hasPassword": person.has_password,
        "identity": {"issuer": person.oidc_issuer, "subject": person.oidc_subject}
        if is_bound
        else None,
        "lastLogInAt": shown_time(person.last_log_in_at),
        "createdAt": shown_time(person.created_at),
    }


def _line(one: dict[str, Any]) -> str:
    identity = one["identity"]
    by = [
        *(["password"] if one["hasPassword"] else []),
        *([f"{identity['subject']} at {identity['issuer']}"] if identity else []),
    ]
    state = ("" if one["enabled"] else "\toff") + (
        "" if one["emailProven"] else "\taddress not proven"
    )
    return f"{one['email']}\t{one['role']}\t{', '.join(by) or 'no log-in yet'}{state}"
