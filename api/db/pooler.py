"""Supports PostgreSQL behind a transaction pooler (PgBouncer), which does not preserve sessions.

After a transaction, the pooler gives the connection to another client. Settings, prepared
statements, locks and notifications of a session are lost.
"""

from typing import Any

from sqlalchemy import Connection, Engine, event, text

from common.errors import MisconfiguredError

_POOLED = "is_pooled"


def is_pooled(driver: Any) -> bool:
    """Return whether there is a pooler between psycopg's connection and PostgreSQL.

    A pooler reports an artificial process ID to clients instead of the server's process ID.
    """
    (process,) = driver.execute("SELECT pg_backend_pid()").fetchone()
    return bool(process != driver.info.backend_pid)


def refuse_pooler(driver: Any, who: str) -> None:
    """Check that a connection goes directly to PostgreSQL. The error names ``who`` (plural).

    Raises:
        MisconfiguredError: the connection goes to a pooler.
    """
    if is_pooled(driver):
        raise MisconfiguredError(
            f"PLATESTREAM_DATABASE_URL points to a connection pooler (PgBouncer), but {who} need a "
            "direct connection to PostgreSQL"
        )


def apply_behind_pooler(engine: Engine, settings: dict[str, str]) -> None:
    """Apply ``settings`` to an engine's transactions even behind a pooler.

    Without a pooler, this costs only one query per new connection.
    """
    names = ", ".join(f"set_config('{name}', :v{number}, true)" for number, name in _each(settings))
    statement = text(f"SELECT {names}")
    values = {f"v{number}": settings[name] for number, name in _each(settings)}

    def opened(driver: Any, record: Any) -> None:
        record.info[_POOLED] = is_pooled(driver)
        driver.rollback()
        if record.info[_POOLED]:
            driver.prepare_threshold = None

    def begun(connection: Connection) -> None:
        if connection.info.get(_POOLED):
            connection.execute(statement, values)

    event.listen(engine, "connect", opened)
    event.listen(engine, "begin", begun)


def _each(settings: dict[str, str]) -> list[tuple[int, str]]:
    return list(enumerate(settings))
