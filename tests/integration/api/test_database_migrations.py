"""Migrations run up, down and up again, and two at a time. Their tables match the mappings."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect

from api.db.engine import open_engine
from api.db.migrate import current_revision, migrate
from api.db.tables import Base
from common.settings import DatabaseSettings

pytestmark = pytest.mark.integration


def test_migrations_can_be_rolled_back_and_applied_again(
    database_settings: DatabaseSettings,
) -> None:
    engine = open_engine(database_settings)
    newest = migrate(engine)
    assert migrate(engine, "base") == "base"
    with engine.connect() as connection:
        assert set(inspect(connection).get_table_names()) <= {"alembic_version"}

    assert migrate(engine) == newest
    engine.dispose()


def test_two_at_once_leave_one_result(database_settings: DatabaseSettings) -> None:
    engines = [open_engine(database_settings) for _ in range(2)]
    with ThreadPoolExecutor(2) as threads:
        revisions = set(threads.map(migrate, engines))

    assert len(revisions) == 1
    with engines[0].connect() as connection:
        assert {current_revision(connection)} == revisions
    for engine in engines:
        engine.dispose()


def test_the_migrations_make_what_the_mappings_say(fresh_database: DatabaseSettings) -> None:
    engine = open_engine(fresh_database)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()
