"""``platestream analyst``: users of ClickHouse who may read one account's rows."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar
from uuid import UUID

import typer

from api.accounts import repository as accounts_repository
from api.accounts.service import owner_by_email
from api.cli.commands import JsonOption, answer, command_group
from api.cli.shared import (
    EmailOption,
    in_database,
    in_family,
    leave_standard_output_to_answers,
    load_command_settings,
)
from common.errors import MisconfiguredError
from common.settings import ClickHouseSettings

# What speaks to ClickHouse is imported where it is needed: it takes longer than most commands.

analyst_app = command_group("Analysts: users of ClickHouse who may read one account's rows.")

NameOption = Annotated[
    str, typer.Option("--name", help="Tells several of one account apart: a-z, 0-9 and _.")
]
_T = TypeVar("_T")


@analyst_app.command("create")
def analyst_create(email: EmailOption, name: NameOption = "", as_json: JsonOption = False) -> None:
    """Make an analyst, and show name and password, this once."""
    from analytics_sql.analysts.accounts import AnalystAccount, analyst_name, create_analyst

    leave_standard_output_to_answers()
    settings = load_command_settings(ClickHouseSettings)
    owner = in_database(lambda session: owner_by_email(session, email))
    analyst = in_family(lambda: AnalystAccount(analyst_name(owner.id, name), owner.id))
    password = in_clickhouse(settings, lambda client, place: create_analyst(client, place, analyst))
    fields = {
        "user": analyst.name,
        "password": password,
        "database": settings.clickhouse_database,
        "clickhouseUrl": settings.clickhouse_url,
        "email": owner.email,
    }
    answer(fields, as_json, "\n".join(f"{name}\t{value}" for name, value in fields.items()))


@analyst_app.command("list")
def analyst_list(as_json: JsonOption = False) -> None:
    """Show all analysts of all accounts, by name."""
    from analytics_sql.analysts.accounts import list_analysts

    leave_standard_output_to_answers()
    settings = load_command_settings(ClickHouseSettings)
    emails = {owner.id: owner.email for owner in in_database(accounts_repository.list_owners)}
    found = in_clickhouse(settings, lambda client, _: list_analysts(client, list(emails)))
    analysts = [{"user": each.name, "email": emails[each.user_id]} for each in found]
    lines = [f"{each['user']}\t{each['email']}" for each in analysts]
    answer({"analysts": analysts}, as_json, "\n".join(lines))


@analyst_app.command("remove")
def analyst_remove(email: EmailOption, name: NameOption = "", as_json: JsonOption = False) -> None:
    """Remove an analyst; its next query is refused. May be repeated."""
    from analytics_sql.analysts.accounts import AnalystAccount, analyst_name, remove_analyst

    leave_standard_output_to_answers()
    settings = load_command_settings(ClickHouseSettings)
    owner = in_database(lambda session: owner_by_email(session, email))
    analyst = in_family(lambda: AnalystAccount(analyst_name(owner.id, name), owner.id))
    in_clickhouse(settings, lambda client, place: remove_analyst(client, place, analyst))
    answer({"user": analyst.name, "email": owner.email}, as_json, f"{analyst.name} is removed")


def remove_analysts_of(settings: ClickHouseSettings, owner_id: UUID) -> None:
    """Remove all analysts of an account. Repeatable.

    Raises:
        TransientError: ClickHouse is unavailable.
    """
    from analytics_sql.analysts.accounts import list_analysts, remove_analyst

    def work(client: Any, place: Any) -> None:
        for analyst in list_analysts(client, [owner_id]):
            remove_analyst(client, place, analyst)

    try:
        _connected(settings, work)
    except MisconfiguredError:
        # Who may not see users has made none.
        return


def in_clickhouse(settings: ClickHouseSettings, work: Callable[[Any, Any], _T]) -> _T:
    """Return what ``work`` returns, given a blocking client and the database's place."""
    return in_family(lambda: _connected(settings, work))


def _connected(settings: ClickHouseSettings, work: Callable[[Any, Any], _T]) -> _T:
    from analytics_sql.analysts.accounts import Place
    from analytics_sql.client import connect_for_schema
    from analytics_sql.cluster import LOCAL

    cluster = settings.clickhouse_cluster
    place = Place(settings.clickhouse_database, cluster, LOCAL if cluster else "")
    client = connect_for_schema(settings)
    try:
        return work(client, place)
    finally:
        client.close()
