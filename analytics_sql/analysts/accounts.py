"""Users who may read one owner's rows: on a ClickHouse server by its users, grants, row policies
and quotas, on the embedded one by a table that it looks them up in.
"""

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from analytics_sql.client import SchemaClient, clickhouse_errors
from common.errors import InvalidInputError

VIEWS: Final = (
    "analysis_recognitions",
    "analysis_alert_triggers",
    "analysis_delivery_attempts",
    "analysis_passes",
    "analysis_cameras",
    "analysis_alerts",
)
"""The views that analysts may ask."""

TABLES: Final = (
    "recognitions",
    "alert_triggers",
    "delivery_attempts",
    "pass_outcomes",
    "cameras",
    "alerts",
)
"""The tables that these views read, by the rights of whoever asks."""

# Not among them: `delivery`, which holds whole records.
_ATTEMPT_COLUMNS: Final = (
    "user_id, webhook_id, alert_id, endpoint, occurred, event, event_id, delivery_id, cause,"
    " created, requested_ms, id, number, started, duration_ms, outcome, status, error,"
    " next_attempt, ingested_at"
)
_SERVICE_POLICY: Final = "platestream_service"
_PREFIX: Final = "analyst_"
_OWNER_DIGITS: Final = 12
_LABEL = re.compile(r"[a-z0-9_]{1,24}")
_PASSWORD_BYTES: Final = 24
_EMBEDDED: Final = "embedded_server.analysts"
_QUERY_SECONDS: Final = 60
_QUERY_BYTES: Final = 2_000_000_000
_QUERIES_PER_HOUR: Final = 10_000
_SECONDS_PER_HOUR: Final = 1_800


@dataclass(frozen=True)
class AnalystAccount:
    """A user who may read an owner's rows."""

    name: str
    user_id: UUID


@dataclass(frozen=True)
class Place:
    """The database whose rows are read, and the cluster that it is on; empty: one server."""

    database: str
    cluster: str = ""
    local_suffix: str = ""
    """Behind the names of the tables that hold the rows, where others stand for all shards."""


def analyst_name(owner_id: UUID, label: str = "") -> str:
    """Return the name of an owner's analyst; ``label`` tells several apart.

    Raises:
        InvalidInputError: a label of other characters than ``a-z0-9_``, or of more than 24.
    """
    name = f"{_PREFIX}{owner_id.hex[:_OWNER_DIGITS]}"
    if not label:
        return name
    if not _LABEL.fullmatch(label):
        raise InvalidInputError("a name has 1 to 24 characters of a-z, 0-9 and _")
    return f"{name}_{label}"


def create_analyst(client: SchemaClient, place: Place, analyst: AnalystAccount) -> str:
    """Make a user and return the password, which is stored nowhere.

    Raises:
        InvalidInputError: there is one of this name.
        TransientError: ClickHouse is unavailable.
        MisconfiguredError: the service's user may not make users.
    """
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    hashed = hashlib.sha256(password.encode()).hexdigest()
    if analyst.name in _names(client):
        raise InvalidInputError(f"{analyst.name} is there already: remove it first")
    with clickhouse_errors():
        if is_embedded(client):
            _note_embedded(client, analyst, place.database, hashed, removed=0)
        else:
            service = str(client.command("SELECT currentUser()"))
            for statement in created_by(place, analyst, hashed, service):
                client.command(statement)
    return password


def remove_analyst(client: SchemaClient, place: Place, analyst: AnalystAccount) -> None:
    """Remove a user; what is half made goes too. Repeatable.

    Raises:
        TransientError: ClickHouse is unavailable.
        MisconfiguredError: the service's user may not remove users.
    """
    with clickhouse_errors():
        if is_embedded(client):
            _note_embedded(client, analyst, place.database, "", removed=1)
        else:
            for statement in removed_by(place, analyst):
                client.command(statement)


def list_analysts(client: SchemaClient, owner_ids: Sequence[UUID]) -> tuple[AnalystAccount, ...]:
    """Return the users of these owners, by name.

    Raises:
        TransientError: ClickHouse is unavailable.
        MisconfiguredError: the service's user may not see users.
    """
    owners = {owner.hex[:_OWNER_DIGITS]: owner for owner in owner_ids}
    start = len(_PREFIX)
    found = ((name, name[start : start + _OWNER_DIGITS]) for name in _names(client))
    return tuple(
        AnalystAccount(name, owners[digits]) for name, digits in sorted(found) if digits in owners
    )


def created_by(
    place: Place, analyst: AnalystAccount, password_sha256: str, service_user: str
) -> tuple[str, ...]:
    """Return the statements that make a user on a ClickHouse server, in their order.

    Rights come last: a user that is half made reads nothing.
    """
    name, database = _quoted(analyst.name), _quoted(place.database)
    cluster = on_cluster(place.cluster)
    tables = _tables(place)
    grants = [f"SELECT ON {database}.{view}" for view in VIEWS]
    for table in tables:
        columns = f"({_ATTEMPT_COLUMNS})" if table.startswith("delivery_attempts") else ""
        grants.append(f"SELECT{columns} ON {database}.{table}")
    return (
        # Without it, whoever has no policy of a table that has some may read none of its rows.
        f"CREATE ROW POLICY IF NOT EXISTS {_SERVICE_POLICY}{cluster} ON {database}.*"
        f" FOR SELECT USING 1 TO {_quoted(service_user)}",
        f"CREATE USER {name}{cluster} IDENTIFIED WITH sha256_hash BY '{password_sha256}'"
        f" DEFAULT DATABASE {database}"
        f" SETTINGS readonly = 2, max_execution_time = {_QUERY_SECONDS} MAX {5 * _QUERY_SECONDS},"
        f" max_memory_usage = {_QUERY_BYTES} MAX {2 * _QUERY_BYTES}",
        f"CREATE ROW POLICY OR REPLACE {name}{cluster}"
        f" ON {', '.join(f'{database}.{table}' for table in tables)}"
        f" FOR SELECT USING user_id = toUUID('{analyst.user_id}') TO {name}",
        f"CREATE QUOTA OR REPLACE {name}{cluster} KEYED BY user_name FOR INTERVAL 1 hour"
        f" MAX queries = {_QUERIES_PER_HOUR}, execution_time = {_SECONDS_PER_HOUR} TO {name}",
        *(f"GRANT{cluster} {grant} TO {name}" for grant in grants),
    )


def removed_by(place: Place, analyst: AnalystAccount) -> tuple[str, ...]:
    """Return the statements that remove a user from a ClickHouse server."""
    name, database = _quoted(analyst.name), _quoted(place.database)
    cluster = on_cluster(place.cluster)
    tables = ", ".join(f"{database}.{table}" for table in _tables(place))
    return (
        f"DROP USER IF EXISTS {name}{cluster}",
        f"DROP QUOTA IF EXISTS {name}{cluster}",
        f"DROP ROW POLICY IF EXISTS {name} ON {tables}{cluster}",
    )


def on_cluster(cluster: str) -> str:
    """Return the clause that has a statement run on all servers of a cluster; empty for none."""
    return f" ON CLUSTER {_quoted(cluster)}" if cluster else ""


def is_embedded(client: SchemaClient) -> bool:
    """Tell whether it is the embedded server."""
    return bool(client.command(f"EXISTS TABLE {_EMBEDDED}"))


def _tables(place: Place) -> tuple[str, ...]:
    if not place.local_suffix:
        return TABLES
    return TABLES + tuple(f"{table}{place.local_suffix}" for table in TABLES)


def _names(client: SchemaClient) -> frozenset[str]:
    with clickhouse_errors():
        if is_embedded(client):
            sql = f"SELECT name FROM {_EMBEDDED} FINAL WHERE removed = 0"
        else:
            sql = f"SELECT name FROM system.users WHERE startsWith(name, '{_PREFIX}')"
        return frozenset(str(name) for (name,) in client.query(sql).result_rows)


def _note_embedded(
    client: SchemaClient, analyst: AnalystAccount, database: str, hashed: str, *, removed: int
) -> None:
    client.command(
        f"INSERT INTO {_EMBEDDED} (name, user_id, database, password_sha256, removed)"
        " SELECT {name:String}, {user_id:UUID}, {database:String}, {hashed:String},"
        " {removed:UInt8}",
        parameters={
            "name": analyst.name,
            "user_id": analyst.user_id,
            "database": database,
            "hashed": hashed,
            "removed": removed,
        },
    )


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"
