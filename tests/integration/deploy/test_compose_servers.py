"""The servers of compose.yaml grant the service only the permissions that the service needs.

PostgreSQL and Kafka are real servers with the files that compose.yaml mounts.
"""

import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors
from pydantic import SecretStr

from api.db.engine import open_engine
from api.db.migrate import migrate
from common.errors import MisconfiguredError, TransientError
from common.kafka.clients import create_topics
from common.kafka.security import require_reachable
from common.settings import DatabaseSettings, KafkaSettings
from deploy.local.files import JARS
from deploy.local.ports import free_ports
from deploy.local.servers.base import CLONE, Program, java
from deploy.local.servers.postgres import binaries
from tests.services.process import ChildProcess
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

SERVERS = CLONE / "deploy" / "compose" / "servers"
PASSWORD = "a-password_of-tests"


@pytest.fixture(scope="module")
def role_url(postgres_url: str) -> str:
    """Return the URL of a database that postgres.sql creates under another name."""
    name = f"service_{uuid4().hex[:8]}"
    _make_database(postgres_url, name)
    host = urlsplit(postgres_url).netloc.rpartition("@")[2]
    return urlunsplit(("postgresql", f"{name}:{PASSWORD}@{host}", f"/{name}", "", ""))


def _make_database(postgres_url: str, name: str) -> None:
    script = (SERVERS / "postgres.sql").read_text().replace("platestream", name)
    subprocess.run(
        [binaries() / "psql", "--set=ON_ERROR_STOP=1", "--no-psqlrc", postgres_url],
        input=script,
        text=True,
        check=True,
        capture_output=True,
        env={"DATABASE_PASSWORD": PASSWORD},
    )


def test_the_role_migrates_its_database(role_url: str) -> None:
    engine = open_engine(DatabaseSettings(database_url=SecretStr(role_url)))
    migrate(engine)
    engine.dispose()

    with psycopg.connect(role_url) as connection:
        assert connection.execute("SELECT count(*) FROM owners").fetchone() == (0,)


def test_the_role_is_no_superuser_and_reaches_nothing_else(role_url: str) -> None:
    with psycopg.connect(role_url, autocommit=True) as connection:
        rights = connection.execute(
            "SELECT rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls"
            " FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        assert rights == (False,) * 5
        for statement in (
            "CREATE ROLE another SUPERUSER",
            "CREATE DATABASE another",
            "COPY (SELECT 1) TO PROGRAM 'true'",
            "SELECT pg_read_file('/etc/passwd')",
            "SELECT rolpassword FROM pg_authid",
        ):
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(statement)
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        psycopg.connect(urlunsplit(urlsplit(role_url)._replace(path="/postgres")))


def test_a_dropped_database_is_made_again_and_restored(
    postgres_url: str, role_url: str, tmp_path: Path
) -> None:
    name = urlsplit(role_url).path[1:]
    service = urlunsplit(urlsplit(postgres_url)._replace(path=f"/{name}"))
    engine = open_engine(DatabaseSettings(database_url=SecretStr(role_url)))
    migrate(engine)
    engine.dispose()
    dump = tmp_path / "postgres.dump"
    subprocess.run(
        [binaries() / "pg_dump", "--format=custom", f"--file={dump}", service], check=True
    )
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())
    _make_database(postgres_url, name)
    restore = ["--no-owner", f"--role={name}", "--exit-on-error", f"--dbname={service}"]
    subprocess.run([binaries() / "pg_restore", *restore, dump], check=True)

    engine = open_engine(DatabaseSettings(database_url=SecretStr(role_url)))
    migrate(engine)
    engine.dispose()
    with psycopg.connect(role_url) as connection:
        assert connection.execute("SELECT count(*) FROM owners").fetchone() == (0,)
        others = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tableowner <> %s"
        assert connection.execute(others, [name]).fetchone() == (0,)


class _Kafka:
    """The broker that kafka.sh starts, with other ports and another folder."""

    def __init__(self, folder: Path) -> None:
        self.port, controller_port = free_ports(2)
        self.password = PASSWORD
        self._folder = folder
        text = (SERVERS / "kafka.properties").read_text()
        for old, new in (
            ("://:9092", f"://127.0.0.1:{self.port}"),
            ("kafka:9092", f"127.0.0.1:{self.port}"),
            ("9093", str(controller_port)),
            ("/var/lib/kafka/data", str(folder / "data")),
        ):
            assert old in text
            text = text.replace(old, new)
        (folder / "kafka.properties").write_text(text)
        (folder / "kafka.sh").write_text((SERVERS / "kafka.sh").read_text())
        (folder / "bin").mkdir()
        for name, main in (
            ("kafka-storage.sh", "kafka.tools.StorageTool"),
            ("kafka-server-start.sh", "kafka.Kafka"),
        ):
            logs = f"-Dlog4j2.configurationFile={SERVERS / 'kafka-log4j2.yaml'}"
            words = java(JARS / "kafka", "-Xmx384m", "-XX:TieredStopAtLevel=1", logs, main)
            (folder / "bin" / name).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
            (folder / "bin" / name).chmod(0o755)

    def process(self) -> ChildProcess:
        """Return the broker, which has not been started."""
        program = Program(
            name="kafka", command=("sh", str(self._folder / "kafka.sh")), stop_seconds=30
        )
        environment = {
            "KAFKA_HOME": str(self._folder),
            "KAFKA_PASSWORD": self.password,
            "CLUSTER_ID": "cGxhdGVzdHJlYW0tMDAwMQ",
        }
        return ChildProcess(program, self._folder / "kafka.log", environment)

    def settings(self, **other: object) -> KafkaSettings:
        """Return the settings that compose.yaml gives to the processes."""
        given = {
            "kafka_bootstrap_servers": f"127.0.0.1:{self.port}",
            "kafka_security_protocol": "SASL_PLAINTEXT",
            "kafka_sasl_mechanism": "SCRAM-SHA-512",
            "kafka_sasl_username": "platestream",
            "kafka_sasl_password": self.password,
            "kafka_partitions": 1,
        }
        return KafkaSettings.model_validate({**given, **other})

    def is_up(self) -> bool:
        """Return whether the service can connect."""
        with suppress(TransientError):
            require_reachable(self.settings())
            return True
        return False


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Kafka]:
    """A broker that has been started twice."""
    kafka = _Kafka(tmp_path_factory.mktemp("kafka"))
    for _ in range(2):
        process = kafka.process()
        process.start()
        try:
            wait_until("Kafka is up", kafka.is_up, 120.0, 0.5)
        except BaseException:
            process.kill()
            raise
        if _ == 0:
            process.stop()
    yield kafka
    process.kill()


def test_kafka_lets_the_service_in(kafka: _Kafka) -> None:
    create_topics(kafka.settings())


@pytest.mark.parametrize(
    "other",
    [
        {"kafka_sasl_password": "guessed"},
        {"kafka_sasl_username": "admin"},
        {"kafka_sasl_mechanism": "PLAIN"},
        {"kafka_sasl_username": "controller", "kafka_sasl_mechanism": "PLAIN"},
    ],
)
def test_kafka_rejects_other_logins(kafka: _Kafka, other: dict[str, str]) -> None:
    with pytest.raises(MisconfiguredError, match=re.escape(f"Kafka at 127.0.0.1:{kafka.port}")):
        require_reachable(kafka.settings(**other))
