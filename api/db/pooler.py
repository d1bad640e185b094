"""PostgreSQL behind a pooler of transactions (pgbouncer): what a session has does not hold there.

One transaction's connection is another caller's next, so settings of the connect are lost, prepared
statements are elsewhere, and so are locks and notifications of a session.
"""

from typing import Any

from sqlalchemy import Connection, Engine, event, text

from common.errors import MisconfiguredError

_POOLED = "is_pooled"


def is_pooled(driver: Any) -> bool:
    """Return whether something stands between psycopg's connection and PostgreSQL.

    A pooler gives each of its clients a number of its own for the process of the server.
    """
    (process,) = driver.execute("SELECT pg_backend_pid()").fetchone()
    return bool(process != driver.info.backend_pid)


def refuse_pooler(driver: Any, who: str) -> None:
    """Return where PostgreSQL itself is at the other end.

    Raises:
        MisconfiguredError: a pooler is.
    """
    if is_pooled(driver):
        raise MisconfiguredError(
            f"PLATESTREAM_DATABASE_URL leads to a pooler of connections (pgbouncer), and {who} need"
            " PostgreSQL itself: give them its own address"
        )


def hold_behind_pooler(engine: Engine, settings: dict[str, str]) -> None:
    """Have an engine's transactions keep ``settings`` also behind a pooler.

    Elsewhere it costs a question for each connection that is opened, and nothing after it.
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
