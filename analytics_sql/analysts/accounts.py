"""Manages analysts: ClickHouse users whose grants limit them to the rows of one account.

Each analyst can read only one database, which contains views of the account's rows. The views are
executed with the permissions of the service (``SQL SECURITY DEFINER``).
"""

import hashlib
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from analytics_sql.client import SchemaClient, clickhouse_errors
from common.errors import InvalidInputError, MisconfiguredError, PlatestreamError

VIEWS: Final = (
    "analysis_recognitions",
    "analysis_alert_triggers",
    "analysis_delivery_attempts",
    "analysis_passes",
    "analysis_cameras",
    "analysis_alerts",
)
"""The views in an analyst's database."""

_PREFIX: Final = "analyst_"
_NAME = re.compile(rf"{_PREFIX}([0-9a-f]{{32}})(_[a-z0-9_]{{1,24}})?")
_LABEL = re.compile(r"[a-z0-9_]{1,24}")
_PASSWORD_BYTES: Final = 24
_QUERIES_PER_HOUR: Final = 10_000
_SECONDS_PER_HOUR: Final = 1_800
# Drivers set the two changeable limits with each query. The last setting makes ClickHouse check the
# view's condition first: errors in later conditions could reveal other accounts' rows.
_SETTINGS: Final = (
    "readonly = 1",
    "max_execution_time = 60 MIN 1 MAX 60 CHANGEABLE_IN_READONLY",
    "max_memory_usage = 2000000000 MIN 1 MAX 2000000000 CHANGEABLE_IN_READONLY",
    "query_plan_merge_filters = 0",
)
_FIND_NAMES: Final = f"""
    SELECT name FROM system.users WHERE startsWith(name, '{_PREFIX}')
    UNION DISTINCT
    SELECT name FROM system.databases WHERE startsWith(name, '{_PREFIX}')
"""
_FIND_EMBEDDED: Final = "SELECT count() FROM system.databases WHERE name = 'embedded_server'"


@dataclass(frozen=True)
class AnalystAccount:
    """A ClickHouse user that can read an account's rows in a database of the same name."""

    name: str
    user_id: UUID


@dataclass(frozen=True)
class TargetDatabase:
    """The service's database, and the name of its cluster (empty for a single server)."""

    database: str
    cluster: str = ""


def analyst_name(owner_id: UUID, label: str = "") -> str:
    """Return the name of an account's analyst. ``label`` distinguishes the account's analysts.

    Raises:
        InvalidInputError: the label has over 24 characters, or characters other than ``a-z0-9_``.
    """
    name = f"{_PREFIX}{owner_id.hex}"
    if not label:
        return name
    if not _LABEL.fullmatch(label):
        raise InvalidInputError("the name must have 1 to 24 characters: a-z, 0-9 and _")
    return f"{name}_{label}"


def create_analyst(client: SchemaClient, target: TargetDatabase, analyst: AnalystAccount) -> str:
    """Create an analyst and return the password, which is not stored. Undo everything on failure.

    Raises:
        InvalidInputError: the analyst already exists.
        TransientError: ClickHouse is unavailable.
        MisconfiguredError: the server is the embedded one, or the service cannot create users.
    """
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    hashed = hashlib.sha256(password.encode()).hexdigest()
    if analyst.name in _names(client):
        raise InvalidInputError(f"analyst {analyst.name} already exists; remove it first")
    try:
        with clickhouse_errors():
            service = str(client.command("SELECT currentUser()"))
            for statement in created_by(target, analyst, hashed, service):
                client.command(statement)
    except PlatestreamError:
        # If the removal fails too, the next attempt reports that the analyst already exists.
        with suppress(PlatestreamError):
            remove_analyst(client, target, analyst)
        raise
    return password


def remove_analyst(client: SchemaClient, target: TargetDatabase, analyst: AnalystAccount) -> None:
    """Remove an analyst, even a partly created one. Safe to repeat.

    Raises:
        TransientError: ClickHouse is unavailable.
        MisconfiguredError: the server is the embedded one, or the service cannot remove users.
    """
    _check_server(client)
    with clickhouse_errors():
        for statement in removed_by(target, analyst):
            client.command(statement)


def list_analysts(client: SchemaClient, owner_ids: Sequence[UUID]) -> tuple[AnalystAccount, ...]:
    """Return the analysts of these accounts, sorted by name, including partly created analysts.

    Raises:
        TransientError: ClickHouse is unavailable.
        MisconfiguredError: the server is the embedded one, or the service cannot list users.
    """
    owners = {owner.hex: owner for owner in owner_ids}
    found = filter(None, map(_NAME.fullmatch, sorted(_names(client))))
    return tuple(
        AnalystAccount(each.group(), owners[each.group(1)])
        for each in found
        if each.group(1) in owners
    )


def created_by(
    target: TargetDatabase, analyst: AnalystAccount, password_sha256: str, service_user: str
) -> tuple[str, ...]:
    """Return the statements that create an analyst, in order.

    The grant comes last, so a partly created analyst cannot read anything.
    """
    name, service, cluster = _quoted(analyst.name), _quoted(service_user), _on(target)
    return (
        f"CREATE DATABASE IF NOT EXISTS {name}{cluster}",
        *(
            f"CREATE OR REPLACE VIEW {name}.{view}{cluster} DEFINER = {service}"
            f" SQL SECURITY DEFINER AS SELECT * FROM {_quoted(target.database)}.{view}"
            f" WHERE user_id = toUUID('{analyst.user_id}')"
            for view in VIEWS
        ),
        f"CREATE SETTINGS PROFILE OR REPLACE {name}{cluster} SETTINGS {', '.join(_SETTINGS)}",
        f"CREATE USER OR REPLACE {name}{cluster} IDENTIFIED WITH sha256_hash BY"
        f" '{password_sha256}' DEFAULT DATABASE {name} SETTINGS PROFILE {name}",
        f"CREATE QUOTA OR REPLACE {name}{cluster} KEYED BY user_name FOR INTERVAL 1 hour"
        f" MAX queries = {_QUERIES_PER_HOUR}, execution_time = {_SECONDS_PER_HOUR} TO {name}",
        f"GRANT{cluster} SELECT ON {name}.* TO {name}",
    )


def removed_by(target: TargetDatabase, analyst: AnalystAccount) -> tuple[str, ...]:
    """Return the statements that remove an analyst. The first one revokes the analyst's access."""
    name, cluster = _quoted(analyst.name), _on(target)
    return (
        f"DROP USER IF EXISTS {name}{cluster}",
        f"DROP QUOTA IF EXISTS {name}{cluster}",
        f"DROP SETTINGS PROFILE IF EXISTS {name}{cluster}",
        f"DROP DATABASE IF EXISTS {name}{cluster} SYNC",
    )


def _on(target: TargetDatabase) -> str:
    return f" ON CLUSTER {_quoted(target.cluster)}" if target.cluster else ""


def _names(client: SchemaClient) -> frozenset[str]:
    _check_server(client)
    with clickhouse_errors():
        return frozenset(str(name) for (name,) in client.query(_FIND_NAMES).result_rows)


def _check_server(client: SchemaClient) -> None:
    with clickhouse_errors():
        if client.command(_FIND_EMBEDDED):
            raise MisconfiguredError(
                "per-account analysts require an external ClickHouse server: set"
                " PLATESTREAM_CLICKHOUSE_URL (the embedded server's analyst reads all accounts)"
            )


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"
