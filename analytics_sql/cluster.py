"""Converts the schema and its statements for a ClickHouse cluster.

Rows are stored in replicated tables, ``NAME_local``, on the shard of their account; ``NAME`` is a
Distributed table over all shards, which is read and written like the table of a single server.
Statements that change tables run on all servers. A table without an account column is small, so
every server stores all of its rows.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from common.errors import MisconfiguredError
from common.settings import ClickHouseSettings

LOCAL: Final = "_local"
"""Suffix of the tables in which the rows are stored."""

_DDL_SECONDS: Final = 3600

# An insert is complete once most replicas of the shard have the rows, and a query reads from a
# replica with all such inserts. So reads see earlier writes, even those through other servers. A
# statement for all servers fails if any server fails, instead of returning the error as a result.
CLUSTER_SETTINGS: Final[Mapping[str, int | str]] = {
    "insert_quorum": "auto",
    "insert_quorum_parallel": 0,
    "select_sequential_consistency": 1,
    "distributed_foreground_insert": 1,
    # All rows of an account are on one shard, so other shards need not be queried.
    "distributed_product_mode": "local",
    "optimize_skip_unused_shards": 1,
    "distributed_ddl_task_timeout": _DDL_SECONDS,
    "distributed_ddl_output_mode": "throw",
}

_NAME = r"(?P<name>[A-Za-z_]\w*)"
_COMMENT = re.compile(r"^\s*--.*$\n?", re.MULTILINE)
_CREATE_TABLE = re.compile(rf"CREATE TABLE IF NOT EXISTS {_NAME}")
_CREATE_VIEW = re.compile(rf"CREATE VIEW IF NOT EXISTS {_NAME}")
_MATERIALIZED_VIEW = re.compile(rf"CREATE MATERIALIZED VIEW IF NOT EXISTS {_NAME} TO (?P<to>\w+)")
_ALTER = re.compile(
    r"ALTER TABLE (?P<name>\w+|\{(?P<parameter>\w+):Identifier\})\s+(?P<actions>.*)", re.DOTALL
)
_DROP = re.compile(rf"DROP (?P<kind>TABLE|VIEW) IF EXISTS {_NAME}(?P<rest>.*)", re.DOTALL)
_DATABASE = re.compile(r"CREATE DATABASE IF NOT EXISTS (?P<name>\{\w+:Identifier\}|\w+)")
_ENGINE = re.compile(r"ENGINE = (?P<family>\w*MergeTree)(?:\((?P<arguments>[^()]*)\))?")
_SOURCES = re.compile(r"\b(FROM|JOIN)\s+([A-Za-z_]\w*)")
_OWNER = re.compile(r"^\s*user_id UUID\b", re.MULTILINE)
_OF_COLUMNS = re.compile(r"(ADD|DROP|RENAME|MODIFY|COMMENT) COLUMN\b")
_SETTINGS = re.compile(r"\sSETTINGS\s[^']*$", re.DOTALL)

# Tables that are stored completely on every server, because they have no account column.
_WITHOUT_OWNER: Final = frozenset({"schema_migrations"})


@dataclass(frozen=True)
class Cluster:
    """The name of a cluster in the server configuration, and the name of the service's database."""

    name: str
    database: str


def cluster_of(settings: ClickHouseSettings) -> Cluster | None:
    """Return the configured cluster, or None for a single server."""
    name = settings.clickhouse_cluster
    return Cluster(name, settings.clickhouse_database) if name else None


def cluster_statements(statement: str, cluster: Cluster | None) -> tuple[str, ...]:
    """Return the statements that do on a cluster what ``statement`` does on a single server.

    Queries and inserts are returned unchanged, as is every statement if ``cluster`` is None.

    Raises:
        MisconfiguredError: this module has no rule for the form of the statement.
    """
    if not cluster:
        return (statement,)
    code = _COMMENT.sub("", statement).strip()
    word = code.split(None, 1)[0].upper()
    if word in ("SELECT", "INSERT", "WITH", "EXISTS"):
        return (statement,)
    for pattern, rule in _RULES:
        if found := pattern.match(code):
            return tuple(rule(found, code, cluster))
    raise MisconfiguredError(f"no clustering rule for this statement: {code[:80]}")


def cluster_parameters(
    statement: str, parameters: Mapping[str, object], cluster: Cluster | None
) -> dict[str, object]:
    """Return the parameters, with the name of an altered table replaced by its local name."""
    found = _ALTER.match(_COMMENT.sub("", statement).strip()) if cluster else None
    name = found and found.group("parameter")
    if not name:
        return dict(parameters)
    return {**parameters, name: local_table(str(parameters[name]))}


def local_table(name: str) -> str:
    """Return the name of the table in which a table's rows are stored."""
    return name if name in _WITHOUT_OWNER else f"{name}{LOCAL}"


def _on(cluster: Cluster) -> str:
    return f" ON CLUSTER `{cluster.name}`"


def _database(found: re.Match[str], code: str, cluster: Cluster) -> Iterator[str]:
    yield f"CREATE DATABASE IF NOT EXISTS {found.group('name')}{_on(cluster)}"


def _table(found: re.Match[str], code: str, cluster: Cluster) -> Iterator[str]:
    name = found.group("name")
    has_owner = _OWNER.search(code) is not None
    if has_owner == (name in _WITHOUT_OWNER):
        raise MisconfiguredError(f"{name}: add a user_id column or an entry in _WITHOUT_OWNER")
    local = local_table(name)
    # Rows of an account are replicated on the servers of one shard, other rows on all servers.
    place = "{shard}" if has_owner else "all"
    path = f"'/clickhouse/tables/{place}/{{database}}/{local}', '{{replica}}'"

    def replicated(engine: re.Match[str]) -> str:
        arguments = engine.group("arguments")
        more = f", {arguments}" if arguments else ""
        return f"ENGINE = Replicated{engine.group('family')}({path}{more})"

    body, count = _ENGINE.subn(replicated, code[found.end() :], count=1)
    if not count:
        raise MisconfiguredError(f"{name}: only MergeTree tables can be replicated")
    yield f"CREATE TABLE IF NOT EXISTS {local}{_on(cluster)}{body}"
    if has_owner:
        yield (
            f"CREATE TABLE IF NOT EXISTS {name}{_on(cluster)} AS {local}"
            f" ENGINE = Distributed(`{cluster.name}`, `{cluster.database}`, {local},"
            " cityHash64(user_id))"
        )


def _view(found: re.Match[str], code: str, cluster: Cluster) -> Iterator[str]:
    yield f"CREATE VIEW IF NOT EXISTS {found.group('name')}{_on(cluster)}{code[found.end() :]}"


def _materialized(found: re.Match[str], code: str, cluster: Cluster) -> Iterator[str]:
    """Yield a view of the local tables: a row and its source are always on the same shard."""

    def source(match: re.Match[str]) -> str:
        return f"{match.group(1)} {local_table(match.group(2))}"

    body = _SOURCES.sub(source, code[found.end() :])
    name, target = found.group("name"), local_table(found.group("to"))
    yield f"CREATE MATERIALIZED VIEW IF NOT EXISTS {name}{_on(cluster)} TO {target}{body}"


def _alter(found: re.Match[str], code: str, cluster: Cluster) -> Iterator[str]:
    name, actions = found.group("name"), found.group("actions")
    local = name if found.group("parameter") else local_table(name)
    yield f"ALTER TABLE {local}{_on(cluster)} {actions}"
    # Column codecs do not apply to the Distributed table, which stores nothing.
    is_of_storage = actions.startswith("MODIFY COLUMN") and "CODEC(" in actions
    if local != name and _OF_COLUMNS.match(actions) and not is_of_storage:
        yield f"ALTER TABLE {name}{_on(cluster)} {_SETTINGS.sub('', actions)}"


def _drop(found: re.Match[str], code: str, cluster: Cluster) -> Iterator[str]:
    kind, name, rest = found.group("kind", "name", "rest")
    yield f"DROP {kind} IF EXISTS {name}{_on(cluster)}{rest}"
    local = local_table(name)
    if kind == "TABLE" and local != name:
        yield f"DROP TABLE IF EXISTS {local}{_on(cluster)}{rest}"


_RULES: Final = (
    (_DATABASE, _database),
    (_CREATE_TABLE, _table),
    (_MATERIALIZED_VIEW, _materialized),
    (_CREATE_VIEW, _view),
    (_ALTER, _alter),
    (_DROP, _drop),
)
