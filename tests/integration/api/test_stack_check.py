"""What `platestream stack check` says of a real database."""

import pytest
from sqlalchemy import text

from api.db.engine import Database
from api.db.migrate import current_revision, head_revision
from api.stack_check import check_database
from contracts.errors import TransientError

pytestmark = pytest.mark.integration


async def test_a_database_that_is_well(database: Database) -> None:
    await database.run(check_database)

    with database.engine.connect() as connection:
        assert current_revision(connection) == head_revision()


async def test_tables_of_another_release(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))

    with pytest.raises(
        TransientError, match=f"revision 0001, this release needs {head_revision()}"
    ):
        await database.run(check_database)


async def test_no_tables(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.execute(text("DROP TABLE alembic_version"))

    with pytest.raises(TransientError, match="at revision base"):
        await database.run(check_database)


async def test_a_database_that_only_reads(database: Database) -> None:
    with database.engine.begin() as connection:
        name = connection.execute(text("SELECT current_database()")).scalar_one()
        connection.execute(text(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'))
    database.engine.dispose()

    with pytest.raises(TransientError, match="takes no writes: ReadOnlySqlTransaction"):
        await database.run(check_database)
