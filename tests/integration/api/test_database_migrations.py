"""The migrations: up, down, up; two at once; and the same tables as the mappings."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from api.db.engine import open_engine
from api.db.migrate import current_revision, migrate
from api.db.tables import Base
from common.settings import DatabaseSettings
from tests.records import OWNER

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


def test_the_migrations_make_what_the_mappings_say(api_database: DatabaseSettings) -> None:
    engine = open_engine(api_database)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


def test_keys_from_before_the_column_have_no_ancestors_and_survive_its_removal(
    database_settings: DatabaseSettings,
) -> None:
    engine = open_engine(database_settings)
    migrate(engine, "0005")
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO owners (id, email, password_hash) VALUES (:id, 'a@b.example', '')"),
            {"id": OWNER},
        )
        connection.execute(
            text(
                "INSERT INTO api_keys (id, owner_id, name, key_hash, prefix, scopes)"
                " VALUES (:id, :id, 'Gate', 'hash', 'pk_', '{cameras:read}')"
            ),
            {"id": OWNER},
        )
    migrate(engine, "0006")
    with engine.connect() as connection:
        assert connection.scalars(text("SELECT ancestors FROM api_keys")).all() == [[]]
    migrate(engine, "0005")
    with engine.connect() as connection:
        assert connection.scalars(text("SELECT name FROM api_keys")).all() == ["Gate"]
        columns = {column["name"] for column in inspect(connection).get_columns("api_keys")}
    assert "ancestors" not in columns
    engine.dispose()
