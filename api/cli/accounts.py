"""Implements ``platestream owner`` and ``platestream key``, which manage accounts and API keys."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sqlalchemy.orm import Session

from api.accounts import repository as accounts_repository
from api.accounts.repository import OwnerAccount, lock_owner
from api.accounts.service import (
    NewKey,
    change_password,
    check_timezone,
    create_key,
    create_owner,
    named_person,
    normalised_email,
    owner_by_email,
)
from api.cli.commands import (
    JsonOption,
    PasswordStdinOption,
    answer,
    command_group,
    read_password,
)
from api.cli.erasure import owner_remove
from api.cli.shared import (
    AccountOption,
    EmailOption,
    exit_on_service_error,
    in_database,
    load_command_settings,
    shown_time,
)
from api.credits import repository as credits_repository
from api.credits.repository import EntryKind
from api.db.people_tables import Person
from api.outbox.outbox import enqueue_owner
from api.people.repository import list_people, unbind
from api.security.permissions import ALL_SCOPES, Scope
from api.sessions.account import change_timezone
from common.errors import InvalidInputError

if TYPE_CHECKING:
    from api.limits.owner_limits import OwnerLimit

owner_app = command_group("Manage accounts.")
key_app = command_group("Create API keys for any account.")
owner_app.command("remove")(owner_remove)

_LARGEST_LIMIT = 1_000_000_000

PasswordOption = Annotated[
    str | None, typer.Option(help="Password. Visible to other users; prefer the prompt.")
]


@owner_app.command("create")
def owner_create(
    email: EmailOption,
    password: PasswordOption = None,
    password_stdin: PasswordStdinOption = False,
    credits: Annotated[int, typer.Option(min=0, help="Initial credits.")] = 0,
    timezone: Annotated[str, typer.Option(help="IANA time zone for reports.")] = "UTC",
    as_json: JsonOption = False,
) -> None:
    """Create an account. Prompts for a password unless one is given."""
    secret = _password(password, from_stdin=password_stdin)
    owner = in_database(
        lambda session: create_owner(
            session, email=email, password=secret, timezone=timezone, credits=credits
        )
    )
    answer(_owner_fields(owner), as_json, f"created {owner.email} with {owner.credits} credits")


@owner_app.command("password")
def owner_password(
    email: EmailOption,
    account: AccountOption = None,
    password: PasswordOption = None,
    password_stdin: PasswordStdinOption = False,
    as_json: JsonOption = False,
) -> None:
    """Change a person's password and end their sessions. Prompts unless a password is given.

    --email can be the address of any person in any account. API keys remain valid.
    """
    secret = _password(password, from_stdin=password_stdin)
    owner = in_database(
        lambda session: change_password(session, email=email, password=secret, account=account)
    )
    answer(_owner_fields(owner), as_json, f"changed password of {normalised_email(email)}")


@owner_app.command("update")
def owner_update(
    email: EmailOption,
    timezone: Annotated[str, typer.Option(help="IANA time zone for reports and alerts.")],
    as_json: JsonOption = False,
) -> None:
    """Change an account's time zone, which alerts without their own time zone also use."""

    def work(session: Session) -> OwnerAccount:
        check_timezone(timezone)
        change_timezone(session, owner_by_email(session, email).id, timezone)
        return owner_by_email(session, email)

    owner = in_database(work)
    answer(_owner_fields(owner), as_json, f"set time zone of {owner.email} to {owner.timezone}")


@owner_app.command("list")
def owner_list(as_json: JsonOption = False) -> None:
    """List all accounts, newest first."""
    owners = in_database(accounts_repository.list_owners)
    lines = [f"{owner.email}\t{owner.credits} credits\t{owner.timezone}" for owner in owners]
    answer({"owners": [_owner_fields(owner) for owner in owners]}, as_json, "\n".join(lines))


@owner_app.command("credits")
def owner_credits(
    email: EmailOption,
    grant: Annotated[int, typer.Option(help="Credits to add; negative to deduct.")],
    reason: Annotated[str, typer.Option(help="Reason shown in the ledger.")],
    as_json: JsonOption = False,
) -> None:
    """Add credits to an account or deduct credits from it, with an entry in the ledger."""

    def work(session: Session) -> OwnerAccount:
        owner = owner_by_email(session, email)
        after = credits_repository.insert_entry(
            session, owner.id, delta=grant, kind=EntryKind.GRANT, reason=reason
        )
        if after is None:
            raise InvalidInputError("the balance must not become negative", code="balance_too_low")
        return owner_by_email(session, email)

    owner = in_database(work)
    answer(_owner_fields(owner), as_json, f"{owner.email} now has {owner.credits} credits")


@key_app.command("create")
def key_create(
    email: EmailOption,
    name: Annotated[str, typer.Option(help="Name of the API key.")],
    scopes: Annotated[str, typer.Option(help="Comma-separated scopes, or all.")],
    expires: Annotated[datetime | None, typer.Option(help="Expiry date and time (UTC).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Create an API key and print it. The key cannot be shown again."""
    wanted = exit_on_service_error(lambda: _scopes(scopes))
    expires_at = None if expires is None else expires.replace(tzinfo=UTC)

    def work(session: Session) -> NewKey:
        owner = owner_by_email(session, email)
        return create_key(session, owner.id, name=name, scopes=wanted, expires_at=expires_at)

    key = in_database(work)
    answer(_key_fields(key), as_json, key.plain_key)


def _password(given: str | None, *, from_stdin: bool) -> str:
    if given is not None:
        return given
    return read_password(from_stdin=from_stdin, confirm=True)


def _scopes(text: str) -> frozenset[Scope]:
    if text.strip() == "all":
        return ALL_SCOPES
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = sorted(set(names) - set(Scope))
    if unknown or not names:
        fault = f"unknown scopes: {', '.join(unknown)}" if unknown else "no scopes given"
        raise InvalidInputError(f"{fault}; valid scopes: {', '.join(Scope)}")
    return frozenset(Scope(name) for name in names)


def _owner_fields(owner: OwnerAccount) -> dict[str, Any]:
    return {
        "id": str(owner.id),
        "email": owner.email,
        "credits": owner.credits,
        "timezone": owner.timezone,
        "createdAt": shown_time(owner.created_at),
    }


def _key_fields(key: NewKey) -> dict[str, Any]:
    record = key.record
    return {
        "id": str(record.id),
        "name": record.name,
        "prefix": record.prefix,
        "scopes": sorted(record.scopes),
        "enabled": record.enabled,
        "expiresAt": shown_time(record.expires_at),
        "createdAt": shown_time(record.created_at),
        "plainKey": key.plain_key,
    }


@owner_app.command("limits")
def owner_limits(
    email: EmailOption,
    sizes: Annotated[
        list[str] | None,
        typer.Option("--set", help="NAME=SIZE: set a limit for this account. Repeatable."),
    ] = None,
    unset: Annotated[
        list[str] | None,
        typer.Option(help="NAME: reset a limit to the installation's default. Repeatable."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show or change an account's limits. Changes take effect within a few seconds."""
    # Imported here, because importing the API's settings takes longer than most commands.
    from api.limits.owner_limits import ADJUSTABLE, installation_limits
    from api.settings import OwnerLimitSettings

    all_limits = installation_limits(load_command_settings(OwnerLimitSettings))
    installation = {limit: size for limit, size in all_limits.items() if limit in ADJUSTABLE}

    def work(session: Session) -> dict[str, int]:
        owner = lock_owner(session, owner_by_email(session, email).id)
        remaining = {name: size for name, size in owner.limits.items() if name not in _names(unset)}
        after = remaining | _sizes(sizes)
        if after != owner.limits:
            owner.limits = after
            enqueue_owner(session, owner)
        return after

    own = in_database(work)
    lines = [
        f"{limit}\t{own.get(limit, size):,}\t{'own' if limit in own else 'installation'}"
        for limit, size in installation.items()
    ]
    shown = {limit.value: own.get(limit, size) for limit, size in installation.items()}
    answer({"limits": shown, "own": own}, as_json, "\n".join(lines))


def _names(texts: Sequence[str] | None) -> frozenset[str]:
    return frozenset(_limit(text).value for text in texts or ())


def _sizes(texts: Sequence[str] | None) -> dict[str, int]:
    return dict(_size(text) for text in texts or ())


def _size(text: str) -> tuple[str, int]:
    name, _, size = text.partition("=")
    if not size.isdecimal() or not 1 <= int(size) <= _LARGEST_LIMIT:
        fault = f"the limit must be an integer from 1 to {_LARGEST_LIMIT:,}"
        raise InvalidInputError(f"{text!r}: {fault}")
    return _limit(name).value, int(size)


def _limit(name: str) -> "OwnerLimit":
    from api.limits.owner_limits import ADJUSTABLE, OwnerLimit

    if name not in ADJUSTABLE:
        raise InvalidInputError(f"limit {name!r} is not one of {', '.join(sorted(ADJUSTABLE))}")
    return OwnerLimit(name)


@owner_app.command("people")
def owner_people(email: EmailOption, as_json: JsonOption = False) -> None:
    """List the people of an account and their linked identities, newest first."""

    def work(session: Session) -> list[dict[str, Any]]:
        owner = owner_by_email(session, email)
        return [_person_fields(person) for person in list_people(session, owner.id)]

    people = in_database(work)
    answer({"people": people}, as_json, "\n".join(_person_line(one) for one in people))


@owner_app.command("unbind")
def owner_unbind(
    email: EmailOption, account: AccountOption = None, as_json: JsonOption = False
) -> None:
    """Unlink a person from the OpenID Connect provider and end their sessions.

    --email can be the address of any person in any account. At the next login through the
    provider, the person is matched by email address again.
    """

    def work(session: Session) -> dict[str, Any]:
        person = named_person(session, email, account)
        if person.oidc_subject is None:
            raise InvalidInputError(
                f"{person.email} is not linked to an identity provider", code="not_bound"
            )
        lock_owner(session, person.owner_id)
        session.refresh(person)
        unbind(session, person)
        return _person_fields(person)

    person = in_database(work)
    answer(person, as_json, f"unlinked {person['email']} from the identity provider")


def _person_fields(person: Person) -> dict[str, Any]:
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


def _person_line(one: dict[str, Any]) -> str:
    identity = one["identity"]
    by = [
        *(["password"] if one["hasPassword"] else []),
        *([f"{identity['subject']} at {identity['issuer']}"] if identity else []),
    ]
    state = ("" if one["enabled"] else "\tdisabled") + (
        "" if one["emailProven"] else "\temail not verified"
    )
    return f"{one['email']}\t{one['role']}\t{', '.join(by) or 'never logged in'}{state}"
