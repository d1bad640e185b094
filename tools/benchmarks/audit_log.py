"""The audit log with many entries: read and deleted from, without its indexes and with them.

Command: ``python -m tools.benchmarks.audit_log [--entries 2000000] [--rounds 5]``.
Fills a PostgreSQL of its own by ``INSERT … SELECT``: nine of ten entries are one account's, over a
year, most of them searches. Prints a table for docs/benchmarks.md.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Engine, event, text
from sqlalchemy.orm import Session

from api.accounts.repository import add_owner
from api.audit.repository import AuditFilter, list_entries
from api.db.engine import open_engine
from api.db.migrate import migrate
from api.trail.entries import drop_entries
from deploy.local.servers.postgres import PostgresServer
from tests.services.postgres import create_database, postgres_process

_INDEXES: Final = (
    "ix_audit_entries_owner_id_action_at",
    "ix_audit_entries_owner_id_actor_at",
    "ix_audit_entries_owner_id_actor_name_at",
    "ix_audit_entries_owner_id_subject_at",
)
_PAGE = 51
_INSERTED = 20_000
_RARE, _ACTOR = UUID(int=7), UUID(int=9)

_FILL = """
INSERT INTO audit_entries
    (id, owner_id, at, action, actor_kind, actor_id, actor_name, subject_kind, subject_id,
     subject_name, changes, parameters, address, request_id)
SELECT gen_random_uuid(),
    CASE WHEN n % 10 = 0 THEN CAST(:small AS uuid) ELSE CAST(:big AS uuid) END,
    clock_timestamp() - interval '365 days' * (1 - CAST(n AS float) / :entries),
    CASE WHEN n % 100 < 85 THEN 'recognitions.searched' WHEN n % 100 < 95 THEN 'recognition.viewed'
         WHEN n % 100 < 99 THEN 'camera.updated'
         WHEN n % 100000 = 99 THEN 'key.revoked' ELSE 'alert.updated' END,
    'person',
    CASE WHEN n % 200000 = 1 THEN CAST(:actor AS uuid)
         ELSE CAST(lpad(to_hex(100 + n % 50), 32, '0') AS uuid) END,
    CASE WHEN n % 200000 = 1 THEN 'seldom@example.com'
         ELSE 'person' || n % 50 || '@example.com' END,
    CASE WHEN n % 100 < 85 THEN NULL ELSE 'camera' END,
    CASE WHEN n % 100 < 85 THEN NULL WHEN n % 200000 = 97 THEN CAST(:rare AS uuid)
         ELSE CAST(lpad(to_hex(1000 + n % 200), 32, '0') AS uuid) END,
    CASE WHEN n % 100 < 85 THEN NULL ELSE 'Camera ' || n % 200 END,
    CASE WHEN n % 100 < 95 THEN '{}'::jsonb
         ELSE '{"name": {"before": "Gate", "after": "Gate 2"}}'::jsonb END,
    CASE WHEN n % 100 >= 85 THEN '{}'::jsonb
         ELSE jsonb_build_object('plate', 'A*****E', 'plateHashes',
              jsonb_build_array(md5(CAST(n AS text))), 'match', 'exact') END,
    '192.0.2.7', md5(CAST(n AS text))
FROM generate_series(:first, :last) AS n
"""


def _asked(owner: UUID, year: datetime) -> Mapping[str, tuple[AuditFilter, bool]]:
    """Return what is read, by a name for the table; True: from the middle of the log on."""
    since, until = year - timedelta(days=200), year - timedelta(days=170)
    return {
        "newest": (AuditFilter(owner), False),
        "a page in the middle": (AuditFilter(owner), True),
        "a month half a year ago": (AuditFilter(owner, since, until), False),
        "a frequent action": (AuditFilter(owner, action="recognitions.searched"), False),
        "a rare action": (AuditFilter(owner, action="key.revoked"), False),
        "the first word of a rare action": (AuditFilter(owner, action="key"), False),
        "an action that is not there": (AuditFilter(owner, action="webhook"), False),
        "somebody who acts often": (AuditFilter(owner, actor="person7@example.com"), False),
        "somebody who acts seldom": (AuditFilter(owner, actor="Seldom@example.com"), False),
        "the same by id": (AuditFilter(owner, actor=str(_ACTOR)), False),
        "nobody's name": (AuditFilter(owner, actor="nobody@example.com"), False),
        "a frequent subject": (AuditFilter(owner, subject=UUID(int=1097)), False),
        "a rare subject": (AuditFilter(owner, subject=_RARE), False),
        "a subject that is not there": (AuditFilter(owner, subject=UUID(int=1)), False),
        "a rare action of somebody": (
            AuditFilter(owner, action="key", actor="person49@example.com"),
            False,
        ),
    }


def _let_take_long(connection: Any, _record: object) -> None:
    """Lift the bound of statements, which is for calls."""
    connection.execute("SET statement_timeout = 0")
    connection.commit()


def _fill(engine: Engine, entries: int) -> UUID:
    with Session(engine) as session:
        big = add_owner(session, "big@example.com", "", "UTC").owner_id
        small = add_owner(session, "small@example.com", "", "UTC").owner_id
        session.commit()
    given = {"big": big, "small": small, "actor": _ACTOR, "rare": _RARE, "entries": entries}
    for first in range(1, entries + 1, 100_000):
        last = min(first + 99_999, entries)
        with engine.begin() as connection:
            connection.execute(text(_FILL), {**given, "first": first, "last": last})
    _vacuum(engine)
    return big


def _vacuum(engine: Engine) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM (ANALYZE) audit_entries"))


def _milliseconds(work: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Return the middle and the longest."""
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        took.append(1000 * (time.perf_counter() - began))
    return statistics.median(took), max(took)


def _read(engine: Engine, owner: UUID, rounds: int) -> dict[str, str]:
    now, results = datetime.now(UTC), {}
    for name, (wanted, is_deep) in _asked(owner, now).items():
        after = (now - timedelta(days=180), UUID(int=0)) if is_deep else None
        page = partial(_page, engine, wanted, after)
        count = page()
        middle, longest = _milliseconds(page, rounds)
        results[name] = f"{count} rows in {middle:.1f} ms ({longest:.1f})"
    return results


def _page(
    engine: Engine,
    wanted: AuditFilter,
    after: tuple[datetime, UUID] | None,
) -> int:
    """Return how many entries a page has."""
    with Session(engine) as session:
        return len(list_entries(session, wanted, (), after, _PAGE))


def _indexes(engine: Engine) -> str:
    sizes = (
        "SELECT indexrelname, pg_size_pretty(pg_relation_size(indexrelid))"
        " FROM pg_stat_user_indexes WHERE relname = 'audit_entries' ORDER BY 1"
    )
    with engine.connect() as connection:
        return ", ".join(f"{name} {size}" for name, size in connection.execute(text(sizes)))


def _insert(engine: Engine, owner: UUID, first: int) -> float:
    """Return the microseconds that one more entry takes, written in one statement with others."""
    given = {"big": owner, "small": owner, "actor": _ACTOR, "rare": _RARE, "entries": first}
    began = time.perf_counter()
    with engine.begin() as connection:
        connection.execute(text(_FILL), {**given, "first": first, "last": first + _INSERTED - 1})
    return 1_000_000 * (time.perf_counter() - began) / _INSERTED


def _drop(engine: Engine) -> str:
    began = time.perf_counter()
    with Session(engine) as session:
        count = drop_entries(session, datetime.now(UTC) - timedelta(days=360))
        session.rollback()
    return f"{1000 * (time.perf_counter() - began):.0f} ms ({count} entries)"


def _measure(engine: Engine, owner: UUID, entries: int, rounds: int) -> dict[str, str]:
    found = _read(engine, owner, rounds)
    found["one more entry, µs"] = f"{_insert(engine, owner, entries + 1):.0f}"
    found["a sweep of retention"] = _drop(engine)
    return found


def _own_indexes(engine: Engine) -> Mapping[str, str]:
    """Return the definitions of those that are measured, by name."""
    defined = "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'audit_entries'"
    with engine.connect() as connection:
        found = {str(name): str(made) for name, made in connection.execute(text(defined))}
    return {name: found[name] for name in _INDEXES}


def _build(engine: Engine, definitions: Iterable[str]) -> None:
    for definition in definitions:
        began = time.perf_counter()
        with engine.begin() as connection:
            connection.execute(text(definition))
        print(f"{time.perf_counter() - began:.1f} s: {definition}", flush=True)


def _compare(engine: Engine, entries: int, rounds: int) -> None:
    began = time.perf_counter()
    owner = _fill(engine, entries)
    print(f"filled in {time.perf_counter() - began:.0f} s", flush=True)
    made = _own_indexes(engine)
    with engine.begin() as connection:
        for name in made:
            connection.execute(text(f"DROP INDEX {name}"))
    print(_indexes(engine), flush=True)
    before = _measure(engine, owner, entries, rounds)
    _build(engine, made.values())
    _vacuum(engine)
    print(_indexes(engine), flush=True)
    after = _measure(engine, owner, entries, rounds)
    print("| | without | with |\n|---|---|---|")
    for name, was in before.items():
        print(f"| {name} | {was} | {after.get(name, '')} |")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with TemporaryDirectory() as folder, postgres_process(Path(folder)) as process:
        assert isinstance(process.server, PostgresServer)
        engine = open_engine(create_database(process.server.url("postgres")))
        event.listen(engine, "connect", _let_take_long)
        migrate(engine)
        _compare(engine, given.entries, given.rounds)
        engine.dispose()


if __name__ == "__main__":
    main()
