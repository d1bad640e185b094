"""Backup and restore with the servers' own tools (docs/backup.md), and ``platestream restore``."""

import asyncio
import io
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from cryptography.fernet import Fernet
from sqlalchemy import select, text
from sqlalchemy.orm import Session
from typer.testing import CliRunner

from analytics_sql.client import ClickHouseClient
from analytics_sql.migrate import create_database as create_clickhouse_database
from analytics_sql.migrate import migrate as migrate_clickhouse
from analytics_sql.recognitions import insert_recognitions, recognition_row
from analytics_sql.triggers import insert_triggers, trigger_row
from api.accounts.service import create_owner
from api.cameras.repository import confirm_camera, insert_camera
from api.cli.app import app
from api.db.engine import in_transaction, open_engine
from api.db.people_tables import Invitation, LoginSession, Person
from api.db.tables import ApiKey, ConfigOutbox, ErasureJob, Owner
from api.outbox.outbox import enqueue
from common.records.alerts import AlertTrigger
from common.records.recognitions import Recognition
from common.records.topics import CONFIG_CAMERAS, RECOGNITIONS
from common.secrets import SecretBox
from common.settings import DatabaseSettings, S3Settings
from deploy.local.servers.postgres import binaries
from tests.integration.api.cameras import values
from tests.records import alert, alert_trigger, owned_recognition
from tests.services import s3
from tests.services.clickhouse import ClickHouseAddress, ClickHouseService

pytestmark = pytest.mark.integration

EMAIL = "gate@platestream.example"
SINCE_MS = 1_795_000_000_000
KEY = Fernet.generate_key().decode()
ROWS = "SELECT * FROM {} FINAL ORDER BY ALL"
ODD_NAME = "Code: 62. DB::Exception: boom"
DATABASE, NAME = "platestream", "before"


@dataclass(frozen=True)
class Place:
    """The servers of an installation, and their settings."""

    database: DatabaseSettings
    clickhouse: ClickHouseAddress
    s3: S3Settings

    def environment(self) -> Mapping[str, str]:
        address = self.clickhouse
        return {
            "PLATESTREAM_DATABASE_URL": self.database.database_url.get_secret_value(),
            "PLATESTREAM_CLICKHOUSE_URL": address.url,
            "PLATESTREAM_CLICKHOUSE_USER": address.user,
            "PLATESTREAM_CLICKHOUSE_PASSWORD": address.password,
            "PLATESTREAM_CLICKHOUSE_DATABASE": address.database,
            "PLATESTREAM_RECOGNITION_RETENTION_DAYS": "36500",
            "PLATESTREAM_S3_ENDPOINT": self.s3.s3_endpoint,
            "PLATESTREAM_S3_ACCESS_KEY": self.s3.s3_access_key,
            "PLATESTREAM_S3_SECRET_KEY": self.s3.s3_secret_key.get_secret_value(),
            "PLATESTREAM_S3_BUCKET": self.s3.s3_bucket,
        }

    def transaction(self, work: Callable[[Session], Any]) -> Any:
        engine = open_engine(self.database)
        try:
            return in_transaction(engine, work)
        finally:
            engine.dispose()

    def answers(self) -> dict[str, Any]:
        """Return the data of all servers."""
        engine, client = open_engine(self.database), self.clickhouse.client()
        with engine.connect() as connection:
            tables = connection.execute(
                text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
            )
            found: dict[str, Any] = {
                name: sorted(map(str, connection.execute(text(f'SELECT * FROM "{name}"'))))
                for (name,) in tables.all()
            }
        for table in TABLES:
            found[f"clickhouse {table}"] = client.query(ROWS.format(table)).result_rows
        client.close()
        engine.dispose()
        return found | {"images": self.images()}

    def images(self) -> dict[str, bytes]:
        client = s3.s3_client(self.s3)
        keys = [one.object_name or "" for one in client.list_objects(self.s3.s3_bucket, None, True)]
        return {key: client.get_object(self.s3.s3_bucket, key).data for key in keys}


TABLES = ("recognitions", "alert_triggers", "plate_pieces", "erasures")
TOOLS = binaries()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("PLATESTREAM_SECRET_KEY", KEY)

    def called(place: Place, *arguments: str) -> Any:
        for name, value in place.environment().items():
            monkeypatch.setenv(name, value)
        return CliRunner().invoke(app, [*arguments, "--json"])

    return called


@pytest.fixture
def clickhouse_servers(tmp_path: Path) -> Iterator[tuple[ClickHouseService, ClickHouseService]]:
    """The server of the installation, and the server that replaces it."""
    with (
        ClickHouseService(tmp_path / "former") as former,
        ClickHouseService(tmp_path / "fresh") as fresh,
    ):
        yield former, fresh


@pytest.fixture
def filled(
    fresh_database: DatabaseSettings,
    clickhouse_servers: tuple[ClickHouseService, ClickHouseService],
    s3_settings: S3Settings,
) -> Place:
    """An installation with an account, a camera, credits, recognitions, a trigger and images."""
    address = replace(clickhouse_servers[0].address, database=DATABASE)
    schema = clickhouse_servers[0].address.client()
    create_clickhouse_database(schema, DATABASE)
    migrate_clickhouse(schema, retention_days=36_500)
    schema.close()
    place = Place(fresh_database, address, s3_settings)
    owner_id = place.transaction(_configured)
    asyncio.run(_write(place, [_seen(owner_id, plate) for plate in ("AB12CD", "AB12CD", "XY99Z")]))
    return place


@pytest.fixture
def fresh(
    database_settings: DatabaseSettings,
    clickhouse_servers: tuple[ClickHouseService, ClickHouseService],
    s3_server: S3Settings,
) -> Place:
    """The replacement servers: an empty database, an empty folder and an empty bucket."""
    address = replace(clickhouse_servers[1].address, database=DATABASE)
    return Place(database_settings, address, s3.fresh_bucket(s3_server))


def _configured(session: Session) -> UUID:
    owner = create_owner(session, email=EMAIL, password="long enough", timezone="UTC", credits=25)
    stream = SecretBox(KEY).encrypt("rtsp://viewer:secret@10.0.0.8/1")
    camera = replace(values(ODD_NAME), stream_url_encrypted=stream)
    assert confirm_camera(session, insert_camera(session, owner.id, camera).id)
    (person,) = session.scalars(select(Person)).all()
    ends = datetime.now(UTC) + timedelta(days=1)
    session.add_all(
        [
            ApiKey(owner_id=owner.id, name="Gate", key_hash=b"h", prefix="pk_gate", scopes=[]),
            LoginSession(owner_id=owner.id, person_id=person.id, token_hash=b"t", expires_at=ends),
            Invitation(
                owner_id=owner.id,
                email="invited@platestream.example",
                role="viewer",
                token_hash=b"i",
                invited_by=EMAIL,
                expires_at=ends,
            ),
        ]
    )
    return owner.id


def _seen(owner_id: UUID, plate: str) -> Recognition:
    return owned_recognition(owner_id, SINCE_MS, plate, camera_name=ODD_NAME)


def _fired(record: Recognition) -> AlertTrigger:
    return alert_trigger(alert(1, owner_id=record.owner_id, name=ODD_NAME), record)


async def _write(place: Place, records: list[Recognition]) -> None:
    client = ClickHouseClient(place.clickhouse.settings())
    await insert_recognitions(client, [recognition_row(record) for record in records])
    await insert_triggers(client, [trigger_row(_fired(record)) for record in records[:1]])
    await client.close()
    for record in records:
        for key in (record.photo_key, record.crop_key):
            _put(place, key or "", f"image {key}".encode())


def _put(place: Place, key: str, data: bytes) -> None:
    s3.s3_client(place.s3).put_object(place.s3.s3_bucket, key, io.BytesIO(data), len(data))


def _back_up(place: Place, folder: Path) -> dict[str, bytes]:
    """Follow the steps of docs/backup.md, and return the copy of the bucket."""
    url = place.database.database_url.get_secret_value()
    subprocess.run([TOOLS / "pg_dump", "-Fc", "-d", url, "-f", folder / "postgres"], check=True)
    client = place.clickhouse.client()
    client.command(f"BACKUP DATABASE {DATABASE} TO Disk('backups', '{NAME}')")
    client.close()
    return place.images()


def _restore(place: Place, folder: Path, images: Mapping[str, bytes]) -> None:
    """Follow the restore steps of docs/backup.md with empty servers."""
    url = place.database.database_url.get_secret_value()
    options = ("--no-owner", "--exit-on-error", "-d", url)
    subprocess.run([TOOLS / "pg_restore", *options, folder / "postgres"], check=True)
    client = replace(place.clickhouse, database="default").client()
    client.command(f"RESTORE DATABASE {DATABASE} FROM Disk('backups', '{NAME}')")
    client.close()
    for key, data in images.items():
        _put(place, key, data)


def _moved(tmp_path: Path) -> None:
    """Copy ClickHouse's backup to the machine of the other server."""
    former, fresh = (tmp_path / name / "clickhouse/data/backups" for name in ("former", "fresh"))
    shutil.copytree(former, fresh, dirs_exist_ok=True)


def _done(result: Any) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_empty_servers_give_the_same_answers_after_a_restore(
    filled: Place, fresh: Place, run: Callable[..., Any], tmp_path: Path
) -> None:
    before = filled.answers()
    images = _back_up(filled, tmp_path)
    _moved(tmp_path)

    _restore(fresh, tmp_path, images)

    assert fresh.answers() == before
    assert ODD_NAME in str(before["clickhouse recognitions"])
    assert ODD_NAME in str(before["cameras"])
    done = _done(run(fresh, "restore", "finish", "--nothing-erased"))
    assert (done["sessionsEnded"], done["invitationsEnded"], done["erasedAgain"]) == (1, 1, 0)
    assert [key["name"] for key in done["keys"]] == ["Gate"]
    assert [(one["email"], one["role"]) for one in done["people"]] == [(EMAIL, "administrator")]
    # Sequences continue after the restored rows, and the camera is in the outbox.
    credits = ("owner", "credits", "--email", EMAIL, "--grant", "1", "--reason", "after")
    assert _done(run(fresh, *credits))["credits"] == 26
    assert done["recordsPublished"] == 1


@pytest.mark.long
def test_what_was_erased_after_the_backup_does_not_come_back(
    filled: Place, fresh: Place, run: Callable[..., Any], tmp_path: Path
) -> None:
    images = _back_up(filled, tmp_path)
    _moved(tmp_path)
    erased = tmp_path / "erased.json"
    _done(run(filled, "plate", "erase", "--email", EMAIL, "--plate", "AB12CD"))
    assert _done(run(filled, "restore", "erasures", str(erased)))["erasures"] == 1
    assert erased.stat().st_mode & 0o077 == 0
    assert "AB12CD" not in erased.read_text()
    _restore(fresh, tmp_path, images)
    assert "AB12CD" in str(fresh.answers())

    first = _done(run(fresh, "restore", "finish", "--erased", str(erased)))
    second = _done(run(fresh, "restore", "finish", "--erased", str(erased), "--disable-keys"))

    answers = fresh.answers()
    assert (first["erasedAgain"], second["erasedAgain"]) == (1, 0)
    assert (second["sessionsEnded"], second["keysDisabled"], second["keys"]) == (0, 1, [])
    assert "AB12CD" not in str(answers)
    assert "XY99Z" in str(answers["clickhouse recognitions"])
    assert len(answers["images"]) == 2
    assert len(answers["clickhouse erasures"]) == 1
    assert str(answers["audit_entries"]).count("account.restored") == 2


@pytest.mark.long
def test_a_request_that_waited_and_a_removed_account_are_erased_again(
    filled: Place, fresh: Place, run: Callable[..., Any], tmp_path: Path
) -> None:
    images = _back_up(filled, tmp_path)
    _moved(tmp_path)
    erased = tmp_path / "erased.json"
    filled.transaction(
        lambda session: session.add(
            ErasureJob(
                owner_id=session.scalars(select(Owner.id)).one(),
                plate="XY99Z",
                plate_masked="X***Z",
                before_ms=SINCE_MS + 1,
                requested_by=EMAIL,
            )
        )
    )
    _done(run(filled, "restore", "erasures", str(erased)))
    _done(run(filled, "owner", "remove", "--email", EMAIL, "--yes"))
    assert _done(run(filled, "restore", "erasures", str(erased)))["erasures"] == 2
    _restore(fresh, tmp_path, images)

    done = _done(run(fresh, "restore", "finish", "--erased", str(erased)))

    answers = fresh.answers()
    assert (done["erasedAgain"], done["people"], done["keys"]) == (1, [], [])
    assert (answers["owners"], answers["images"]) == ([], {})
    assert answers["clickhouse recognitions"] == answers["clickhouse alert_triggers"] == []


@pytest.mark.long
def test_what_waited_in_the_outbox_is_not_sent_again(
    filled: Place, run: Callable[..., Any]
) -> None:
    def wait(session: Session) -> None:
        owner_id = session.scalars(select(Owner.id)).one()
        enqueue(session, RECOGNITIONS, str(owner_id), _seen(owner_id, "AB12CD"))

    filled.transaction(wait)

    done = _done(run(filled, "restore", "finish", "--nothing-erased"))

    topics = filled.transaction(lambda session: session.scalars(select(ConfigOutbox.topic)).all())
    # By then, the outbox had two records of the camera and one of the recognition.
    assert (done["recordsDropped"], topics) == (2, [CONFIG_CAMERAS.name])


def test_a_restore_is_not_finished_while_the_service_runs_or_with_another_key(
    filled: Place, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    finish = ("restore", "finish", "--nothing-erased")
    assert "--nothing-erased" in run(filled, "restore", "finish").stderr
    assert "cannot be read" in run(filled, "restore", "finish", "--erased", str(tmp_path)).stderr
    with monkeypatch.context() as other:
        other.setenv("PLATESTREAM_SECRET_KEY", Fernet.generate_key().decode())
        assert "a different PLATESTREAM_SECRET_KEY" in run(filled, *finish).stderr
    engine = open_engine(filled.database)
    with engine.connect():
        assert "the service is still running" in run(filled, *finish).stderr
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'of another release'"))
    engine.dispose()
    assert "python -m api.db migrate" in run(filled, *finish).stderr

    sessions = filled.transaction(lambda session: session.scalars(select(LoginSession.id)).all())
    assert len(sessions) == 1
