"""PostgreSQL with PgBouncer, which runs each transaction on any free connection."""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine, select, text
from sqlalchemy.orm import Session

from api.audit.tables import AuditEntry
from api.db.engine import in_transaction, open_engine, plain_database_url
from api.db.migrate import migrate
from api.db.tables import Owner
from api.outbox.publisher import KafkaPublisher
from api.outbox.relay import Relay
from common.errors import MisconfiguredError
from common.settings import DatabaseSettings
from deploy.local.ports import free_ports
from deploy.local.servers.base import NotReadyError, check_port, tied

pytestmark = pytest.mark.integration

_CONFIGURATION = """
[databases]
* = host={host} port={server} user={user} password={password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
ignore_startup_parameters = options
"""


@pytest.fixture
def pooled(fresh_database: DatabaseSettings, tmp_path: Path) -> Iterator[DatabaseSettings]:
    """Settings of a database through PgBouncer, which has two connections in total."""
    url = urlsplit(fresh_database.database_url.get_secret_value())
    (port,) = free_ports(1)
    file = tmp_path / "pgbouncer.ini"
    file.write_text(
        _CONFIGURATION.format(
            host=url.hostname, server=url.port, user=url.username, password=url.password, port=port
        )
    )
    # PgBouncer refuses to run as root.
    user = ("--user", "nobody") if os.geteuid() == 0 else ()
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    assert program is not None, "apt-get install pgbouncer"
    with subprocess.Popen(tied(program, "--quiet", *user, str(file))) as process:
        _wait_for(port)
        netloc = f"{url.username}:{url.password}@127.0.0.1:{port}"
        yield DatabaseSettings(database_url=SecretStr(urlunsplit(url._replace(netloc=netloc))))
        process.terminate()


def _wait_for(port: int) -> None:
    end = time.monotonic() + 30
    while True:
        try:
            check_port(port)
        except NotReadyError:
            assert time.monotonic() < end
            time.sleep(0.05)
        else:
            return


@pytest.fixture
def engine(pooled: DatabaseSettings) -> Iterator[Engine]:
    """A pool of four connections to PgBouncer, which has two."""
    opened = open_engine(pooled, pool_size=4)
    yield opened
    opened.dispose()


def test_transactions_keep_what_the_service_sets(engine: Engine) -> None:
    together = threading.Barrier(2)

    def add(number: int) -> None:
        with Session(engine) as session, session.begin():
            session.add(Owner(email=f"{number}@platestream.example"))
            session.flush()
            if number < 2:
                together.wait(timeout=30)

    # Each statement runs more often than the driver's threshold for preparing a statement.
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(add, range(40)))

    def looked(session: Session) -> tuple[set[str], str, str]:
        kinds = set(session.scalars(select(AuditEntry.actor_kind)))
        limit = session.scalar(text("SHOW statement_timeout"))
        zone = session.scalar(text("SHOW timezone"))
        return kinds, str(limit), str(zone)

    assert in_transaction(engine, looked) == ({"service"}, "10s", "UTC")


def test_what_needs_a_session_says_so(pooled: DatabaseSettings, engine: Engine) -> None:
    with pytest.raises(MisconfiguredError, match="migrations need a direct connection"):
        migrate(engine)

    def no_publisher() -> KafkaPublisher:
        raise AssertionError("it must not come so far")

    relay = Relay(plain_database_url(pooled), no_publisher, poll_seconds=1, batch_rows=1)
    with pytest.raises(MisconfiguredError, match="the relay's lock and notifications need"):
        relay.run()
