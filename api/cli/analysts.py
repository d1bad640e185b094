"""Implements ``platestream analyst``, which manages ClickHouse users limited to one account."""

from collections.abc import Callable
from contextlib import closing
from typing import Annotated, Any, TypeVar
from uuid import UUID

import typer

from api.accounts import repository as accounts_repository
from api.accounts.service import owner_by_email
from api.cli.commands import JsonOption, answer, command_group
from api.cli.shared import (
    EmailOption,
    exit_on_service_error,
    in_database,
    settings_with_logs,
)
from common.errors import MisconfiguredError
from common.settings import ClickHouseSettings

# ClickHouse code is imported where needed, because importing it takes longer than most commands.

analyst_app = command_group("Manage read-only ClickHouse users, each limited to one account.")

NameOption = Annotated[
    str, typer.Option("--name", help="Suffix for additional analysts: a-z, 0-9 and _.")
]
_T = TypeVar("_T")


@analyst_app.command("create")
def analyst_create(email: EmailOption, name: NameOption = "", as_json: JsonOption = False) -> None:
    """Create an analyst and print the user name and password. The password is shown only once."""
    from analytics_sql.analysts.accounts import AnalystAccount, analyst_name, create_analyst

    settings = settings_with_logs(ClickHouseSettings)
    owner = in_database(lambda session: owner_by_email(session, email))
    analyst = exit_on_service_error(lambda: AnalystAccount(analyst_name(owner.id, name), owner.id))
    password = in_clickhouse(
        settings, lambda client, target: create_analyst(client, target, analyst)
    )
    fields = {
        "user": analyst.name,
        "password": password,
        "database": analyst.name,
        "clickhouseUrl": settings.clickhouse_url,
        "email": owner.email,
    }
    answer(fields, as_json, "\n".join(f"{name}\t{value}" for name, value in fields.items()))


@analyst_app.command("list")
def analyst_list(as_json: JsonOption = False) -> None:
    """List the analysts of all accounts, by name."""
    from analytics_sql.analysts.accounts import list_analysts

    settings = settings_with_logs(ClickHouseSettings)
    emails = {owner.id: owner.email for owner in in_database(accounts_repository.list_owners)}
    found = in_clickhouse(settings, lambda client, _: list_analysts(client, list(emails)))
    analysts = [{"user": each.name, "email": emails[each.user_id]} for each in found]
    lines = [f"{each['user']}\t{each['email']}" for each in analysts]
    answer({"analysts": analysts}, as_json, "\n".join(lines))


@analyst_app.command("remove")
def analyst_remove(email: EmailOption, name: NameOption = "", as_json: JsonOption = False) -> None:
    """Remove an analyst and its views. The analyst's next query is rejected. Safe to repeat."""
    from analytics_sql.analysts.accounts import AnalystAccount, analyst_name, remove_analyst

    settings = settings_with_logs(ClickHouseSettings)
    owner = in_database(lambda session: owner_by_email(session, email))
    analyst = exit_on_service_error(lambda: AnalystAccount(analyst_name(owner.id, name), owner.id))
    in_clickhouse(settings, lambda client, target: remove_analyst(client, target, analyst))
    answer({"user": analyst.name, "email": owner.email}, as_json, f"removed analyst {analyst.name}")


def remove_analysts_of(settings: ClickHouseSettings, owner_id: UUID) -> None:
    """Remove all analysts of an account. Safe to repeat.

    Raises:
        TransientError: ClickHouse is unavailable.
    """
    from analytics_sql.analysts.accounts import list_analysts, remove_analyst

    def work(client: Any, target: Any) -> None:
        for analyst in list_analysts(client, [owner_id]):
            remove_analyst(client, target, analyst)

    try:
        _connected(settings, work)
    except MisconfiguredError:
        # There are no analysts if ClickHouse is embedded or the login cannot list users.
        return


def in_clickhouse(settings: ClickHouseSettings, work: Callable[[Any, Any], _T]) -> _T:
    """Call ``work`` with a blocking client and the service's database, and return the result."""
    return exit_on_service_error(lambda: _connected(settings, work))


def _connected(settings: ClickHouseSettings, work: Callable[[Any, Any], _T]) -> _T:
    from analytics_sql.analysts.accounts import TargetDatabase
    from analytics_sql.client import connect_for_schema

    target = TargetDatabase(settings.clickhouse_database, settings.clickhouse_cluster)
    with closing(connect_for_schema(settings)) as client:
        return work(client, target)
