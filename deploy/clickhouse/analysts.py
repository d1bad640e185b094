"""Users of the embedded server who may only read one owner's rows.

They stand in a table of the engine, which the service fills (``platestream analyst``). Each
statement of theirs reads the owner's rows alone by a filter that the engine puts on every table of
the database, and may name only the views for analysts: a condition on a table itself could be
computed before the filter, and its error would tell of others' rows.
"""

import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from deploy.clickhouse.engine import Engine, EngineSession
from deploy.clickhouse.errors import ClickHouseError, ErrorCode
from deploy.clickhouse.request import OwnerRows

DATABASE: Final = "embedded_server"
"""The server's own database; nobody who only reads may name it."""

_VIEWS_BEGIN_WITH = "analysis_"
# They count the rows of all owners.
_REFUSED_SYSTEM_TABLES: Final = frozenset({"parts", "projections", "data_skipping_indices"})
# Functions that find a table by a name in a text.
_REFUSED_FUNCTIONS = re.compile(r"(?i)(joinget|dict)\w*")
_SET_FUNCTIONS = re.compile(r"(?i)(global)?(not)?(null)?in(ignoreset)?")
_NODE = re.compile(r"( *)(\w+)(?: (\S+))?")
_HOUR_SECONDS = 3600

_TABLE: Final = f"""
    CREATE TABLE IF NOT EXISTS {DATABASE}.analysts
    (
        name String,
        user_id UUID,
        database String,
        password_sha256 String,
        created DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC'),
        removed UInt8 DEFAULT 0,
        changed DateTime64(6, 'UTC') DEFAULT now64(6, 'UTC')
    )
    ENGINE = ReplacingMergeTree(changed)
    ORDER BY name
"""
_FIND: Final = f"""
    SELECT user_id, database, password_sha256
    FROM {DATABASE}.analysts FINAL
    WHERE name = {{name:String}} AND removed = 0
"""
_TABLES: Final = """
    SELECT
        database,
        name,
        engine LIKE '%View%' AS is_view,
        (database, name) IN
            (SELECT database, table FROM system.columns WHERE name = 'user_id') AS owned
    FROM system.tables
    WHERE lower(database) NOT IN ('system', 'information_schema')
"""


class Analysts:
    """The users in the engine's table. Every call blocks: call it from a thread."""

    def __init__(self, engine: Engine) -> None:
        """Make the table where it is missing."""
        self._engine = engine
        for statement in (f"CREATE DATABASE IF NOT EXISTS {DATABASE}", _TABLE):
            _ask(engine, statement, {})

    def find(self, name: str, password: str) -> OwnerRows | None:
        """Return whose rows a user may read, None where name or password is wrong."""
        given = hashlib.sha256(password.encode()).hexdigest()
        for user_id, database, stored in _rows(self._engine, _FIND, {"name": _escaped(name)}):
            if hmac.compare_digest(str(stored).encode(), given.encode()):
                return OwnerRows(name, str(user_id), str(database))
        return None


@dataclass(frozen=True)
class OwnerView:
    """The tables as a user sees them who reads one owner's rows."""

    filters: str
    """Value of the engine's setting ``additional_table_filters``."""
    hidden: frozenset[tuple[str, str]]
    """Database and name of the tables that may not be named."""

    @classmethod
    def of(cls, engine: Engine, owner: OwnerRows) -> "OwnerView":
        """Return what there is now."""
        filters: dict[str, str] = {}
        hidden: set[tuple[str, str]] = set()
        for database, name, is_view, owned in _rows(engine, _TABLES, {}):
            is_own = database == owner.database
            if not (is_own and is_view and str(name).startswith(_VIEWS_BEGIN_WITH)):
                hidden.add((str(database), str(name)))
            if not is_view:
                condition = f"user_id = '{owner.user_id}'" if is_own and owned else "0"
                filters[f"{database}.{name}"] = condition
        pairs = (f"{_quoted(table)}: {_quoted(rows)}" for table, rows in filters.items())
        return cls("{" + ", ".join(pairs) + "}", frozenset(hidden))

    def check(self, session: EngineSession, statement: str, database: str) -> None:
        """Let a statement pass that names none of the hidden tables.

        ``statement`` is as the engine writes it; nothing of it is run. ``database`` is the one of
        names without any.

        Raises:
            ClickHouseError: it names one.
        """
        tree, _ = session.query(f"EXPLAIN AST {statement}", "LineAsString")
        functions: list[tuple[int, bool]] = []
        for line in tree.decode("utf-8", "surrogateescape").splitlines():
            found = _NODE.match(line)
            if found is None:
                continue
            depth, kind, name = len(found.group(1)), found.group(2), found.group(3) or ""
            functions = [each for each in functions if each[0] < depth]
            if (
                kind == "TableIdentifier"
                or kind == "Identifier"
                and any(is_set for _, is_set in functions)
            ):
                self._check_table(name, database)
            elif kind == "Function":
                if _REFUSED_FUNCTIONS.fullmatch(name):
                    raise _denied(f"the function {name}")
                functions.append((depth, _SET_FUNCTIONS.fullmatch(name) is not None))

    def _check_table(self, name: str, database: str) -> None:
        first, dot, rest = name.partition(".")
        place = (first, rest) if dot else (database, first)
        if place in self.hidden or (
            place[0].lower() == "system" and place[1] in _REFUSED_SYSTEM_TABLES
        ):
            raise _denied(f"the table {name}; ask the views analysis_…")


class HourlyQuota:
    """Queries and seconds of them that each user has in an hour, counted by this process."""

    def __init__(
        self, queries: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._queries = queries
        self._seconds = seconds
        self._clock = clock
        self._used: dict[str, tuple[int, int, float]] = {}
        """Hour, queries and seconds in it, by user."""

    def admit(self, user: str) -> None:
        """Count a query.

        Raises:
            ClickHouseError: the hour's queries, or seconds, are used up.
        """
        hour, queries, seconds = self._now(user)
        if queries >= self._queries or seconds >= self._seconds:
            left = int((hour + 1) * _HOUR_SECONDS - self._clock())
            raise ClickHouseError.of(
                ErrorCode.QUOTA_EXCEEDED,
                f"Quota for user {user} for 1 hour has been exceeded: at most {self._queries}"
                f" queries that take {self._seconds:.0f} s together; it ends in {left} s",
            )
        self._used[user] = (hour, queries + 1, seconds)

    def spend(self, user: str, seconds: float) -> None:
        """Count the time that a query took."""
        hour, queries, so_far = self._now(user)
        self._used[user] = (hour, queries, so_far + seconds)

    def _now(self, user: str) -> tuple[int, int, float]:
        hour = int(self._clock() // _HOUR_SECONDS)
        used = self._used.get(user)
        return used if used is not None and used[0] == hour else (hour, 0, 0.0)


def _ask(engine: Engine, statement: str, parameters: Mapping[str, str]) -> bytes:
    session = engine.session("", {}, parameters)
    try:
        body, _ = session.query(statement, "JSONCompactEachRow")
    finally:
        session.close()
    return body


def _rows(
    engine: Engine, statement: str, parameters: Mapping[str, str]
) -> Sequence[Sequence[object]]:
    return [json.loads(line) for line in _ask(engine, statement, parameters).splitlines()]


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _escaped(text: str) -> str:
    """Return a text as a parameter's value. **Source:** ClickHouse, format TabSeparated."""
    for character, written in (("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"), ("\0", "\\0")):
        text = text.replace(character, written)
    return text


def _denied(what: str) -> ClickHouseError:
    return ClickHouseError.of(
        ErrorCode.ACCESS_DENIED,
        f"Not enough privileges: this user may read one account's rows, not use {what}",
    )
