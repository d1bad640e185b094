"""Migrates a database to the latest schema or to another revision."""

from pathlib import Path

import structlog
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from api.db.engine import AdvisoryLock
from api.db.pooler import refuse_pooler

log = structlog.get_logger()

_MIGRATIONS = Path(__file__).parent / "migrations"


def migrate(engine: Engine, target: str = "head") -> str:
    """Migrate the database to ``target`` (a revision, ``head`` or ``base``). Return the revision.

    Concurrent runs are safe: the second run waits for the first, and then has nothing to do.

    Raises:
        MisconfiguredError: the database is behind a pooler.
    """
    with engine.connect() as connection:
        refuse_pooler(connection.connection.driver_connection, "migrations")
        # Waiting for another run can take longer than the statement timeout.
        connection.execute(text("SET statement_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": AdvisoryLock.MIGRATION})
        connection.commit()
        try:
            return _move(connection, target)
        finally:
            connection.rollback()
            connection.execute(
                text("SELECT pg_advisory_unlock(:key)"), {"key": AdvisoryLock.MIGRATION}
            )
            connection.commit()
            connection.invalidate()


def _move(connection: Connection, target: str) -> str:
    config = _config()
    config.attributes["connection"] = connection
    before = current_revision(connection)
    if target == "base" or _is_older(config, target, before):
        command.downgrade(config, target)
    else:
        command.upgrade(config, target)
    connection.commit()
    after = current_revision(connection)
    log.info("database_migrated", revision_before=before, revision=after)
    return after


def current_revision(connection: Connection) -> str:
    """Return the revision of the schema, or ``base`` if the database has no tables."""
    return MigrationContext.configure(connection).get_current_revision() or "base"


def head_revision() -> str:
    """Return the revision of the schema that this release requires."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None
    return head


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    return config


def _is_older(config: Config, target: str, current: str) -> bool:
    # Revisions are numbers with leading zeros, so they can be compared as strings.
    return target != "head" and current != "base" and target < current
