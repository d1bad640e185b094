"""``platestream backup`` and ``restore`` on real servers: the same answers from other ones."""

import asyncio
import gzip
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest
from cryptography.fernet import Fernet
from sqlalchemy import text
from sqlalchemy.orm import Session
from typer.testing import CliRunner

from analytics_sql.client import ClickHouseClient
from analytics_sql.migrate import migrate as migrate_clickhouse
from analytics_sql.recognitions import insert_recognitions, recognition_row
from analytics_sql.triggers import insert_triggers, trigger_row
from api.accounts.service import create_owner
from api.cameras.repository import confirm_camera, insert_camera
from api.cli.app import app
from api.db.engine import in_transaction, open_engine
from common.records.alerts import AlertTrigger
from common.records.ids import recognition_id, trigger_id
from common.records.object_keys import crop_key, photo_key
from common.records.recognitions import Recognition
from common.settings import DatabaseSettings, S3Settings
from tests.integration.api.cameras import values
from tests.integration.api.conftest import copied_database
from tests.records import CAMERAS, alert, recognition
from tests.services import clickhouse, s3
from tests.services.clickhouse import ClickHouseAddress

pytestmark = pytest.mark.integration

EMAIL = "gate@platestream.example"
SINCE_MS = 1_795_000_000_000
KEY = Fernet.generate_key().decode()
ROWS = "SELECT * FROM {} FINAL ORDER BY ALL"


@dataclass(frozen=True)
class Place:
    """The servers of an installation."""

    database: DatabaseSettings
    clickhouse: ClickHouseAddress
    s3: S3Settings

    def environment(self) -> Mapping[str, str]:
        """Return its settings."""
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
        """Do it in PostgreSQL."""
        engine = open_engine(self.database)
        try:
            return in_transaction(engine, work)
        finally:
            engine.dispose()

    def answers(self) -> dict[str, Any]:
        """Return what all servers answer about what they have."""
        engine, client = open_engine(self.database), self.clickhouse.client()
        with engine.connect() as connection:
            tables = connection.execute(
                text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
            )
            found: dict[str, Any] = {
                name: sorted(map(str, connection.execute(text(f'SELECT * FROM "{name}"'))))
                for (name,) in tables.all()
                # What restoring publishes anew is in it.
                if name != "config_outbox"
            }
        for table in ("recognitions", "alert_triggers", "plate_pieces", "erasures"):
            found[f"clickhouse {table}"] = client.query(ROWS.format(table)).result_rows
        client.close()
        engine.dispose()
        return found | {"images": self.images()}

    def images(self) -> dict[str, bytes]:
        """Return what is in the bucket."""
        client = s3.s3_client(self.s3)
        keys = [one.object_name or "" for one in client.list_objects(self.s3.s3_bucket, None, True)]
        return {key: client.get_object(self.s3.s3_bucket, key).data for key in keys}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("PLATESTREAM_SECRET_KEY", KEY)

    def called(place: Place, *arguments: str) -> Any:
        for name, value in place.environment().items():
            monkeypatch.setenv(name, value)
        return CliRunner().invoke(app, [*arguments, "--json"])

    return called


@pytest.fixture
def filled(
    api_database: DatabaseSettings, clickhouse_address: ClickHouseAddress, s3_settings: S3Settings
) -> Place:
    """An installation with an account, a camera, credits, recognitions, a firing and images."""
    schema = clickhouse_address.client()
    migrate_clickhouse(schema, retention_days=36_500)
    schema.close()
    place = Place(api_database, clickhouse_address, s3_settings)

    def configuration(session: Session) -> UUID:
        owner = create_owner(
            session, email=EMAIL, password="long enough", timezone="UTC", credits=25
        )
        assert confirm_camera(session, insert_camera(session, owner.id, values('a "gate"')).id)
        return owner.id

    owner_id = place.transaction(configuration)
    asyncio.run(_write(place, [_seen(owner_id, plate) for plate in ("AB12CD", "AB12CD", "XY99Z")]))
    return place


@pytest.fixture
def fresh(
    postgres_url: str,
    migrated_template: str,
    clickhouse_server: ClickHouseAddress,
    s3_server: S3Settings,
) -> Iterator[Place]:
    """Another installation, just made."""
    address = clickhouse.create_database(clickhouse_server)
    with copied_database(postgres_url, migrated_template) as database:
        yield Place(database, address, s3.fresh_bucket(s3_server))


def _seen(owner_id: UUID, plate: str) -> Recognition:
    identifier = recognition_id(SINCE_MS, CAMERAS[0], plate)
    return msgspec.structs.replace(
        recognition(0, captured_ms=SINCE_MS),
        id=identifier,
        owner_id=owner_id,
        plate=plate,
        photo_key=photo_key(owner_id, identifier),
        crop_key=crop_key(owner_id, identifier),
    )


def _fired(record: Recognition) -> AlertTrigger:
    rule = alert(1, owner_id=record.owner_id)
    return AlertTrigger(
        id=trigger_id(record.captured_ms, rule.alert_id, record.id),
        owner_id=record.owner_id,
        alert=rule,
        recognition=record,
        decided_ms=record.captured_ms,
    )


async def _write(place: Place, records: list[Recognition]) -> None:
    client = ClickHouseClient(place.clickhouse.settings())
    await insert_recognitions(client, [recognition_row(record) for record in records])
    await insert_triggers(client, [trigger_row(_fired(record)) for record in records[:1]])
    await client.close()
    for record in records:
        for key in (record.photo_key, record.crop_key):
            data = f"picture {key}".encode()
            bucket = s3.s3_client(place.s3)
            bucket.put_object(place.s3.s3_bucket, key or "", io.BytesIO(data), len(data))


def _done(result: Any) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_other_servers_give_the_same_answers(
    filled: Place, fresh: Place, run: Callable[..., Any], tmp_path: Path
) -> None:
    folder = tmp_path / "backup"
    made = _done(run(filled, "backup", str(folder), "--with-images"))
    before = filled.answers()

    restored = _done(run(fresh, "restore", str(folder)))

    assert (made["hasImages"], restored["imagesPutBack"]) == (True, 4)
    assert fresh.answers() == before
    assert folder.stat().st_mode & 0o077 == 0
    # All configuration goes to Kafka again, and numbers go on where they were.
    outbox = fresh.transaction(lambda session: session.execute(text("TABLE config_outbox")).all())
    assert len(outbox) > 0
    credits = ("owner", "credits", "--email", EMAIL, "--grant", "1", "--reason", "after")
    assert _done(run(fresh, *credits))["credits"] == 26

    again = run(fresh, "restore", str(folder))
    assert again.exit_code == 1
    assert "--replace removes them" in again.stderr


def test_what_was_erased_since_does_not_come_back(
    filled: Place, run: Callable[..., Any], tmp_path: Path
) -> None:
    folder = tmp_path / "backup"
    _done(run(filled, "backup", str(folder)))
    _done(run(filled, "plate", "erase", "--email", EMAIL, "--plate", "AB12CD"))

    restored = _done(run(filled, "restore", str(folder), "--replace", "--yes"))

    answers = filled.answers()
    assert (restored["erasedAgain"], restored["imagesMissing"]) == (1, 2)
    assert "AB12CD" not in str({**answers, "alerts": None})
    assert "XY99Z" in str(answers["clickhouse recognitions"])
    assert len(answers["clickhouse erasures"]) == 1
    assert not (folder / "erased.json").exists()


def test_what_is_no_whole_backup_of_this_installation_changes_nothing(
    filled: Place,
    fresh: Place,
    run: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "backup"
    assert "is no backup" in run(fresh, "restore", str(tmp_path)).stderr
    _done(run(filled, "backup", str(folder)))
    assert "is not empty" in run(filled, "backup", str(folder)).stderr
    with monkeypatch.context() as other:
        other.setenv("PLATESTREAM_SECRET_KEY", Fernet.generate_key().decode())
        assert "is not that of the backup" in run(fresh, "restore", str(folder)).stderr
    _change(folder / "backup.json", '"revision": "0', '"revision": "9')
    assert "does not know" in run(fresh, "restore", str(folder)).stderr
    _change(folder / "backup.json", '"revision": "9', '"revision": "0')
    engine = open_engine(fresh.database)
    with engine.connect():
        assert "the service is running" in run(fresh, "restore", str(folder)).stderr
    engine.dispose()
    with gzip.open(folder / "postgres" / "owners.csv.gz", "wb") as file:
        file.write(b"other rows")
    assert "is not as it was written" in run(fresh, "restore", str(folder)).stderr

    assert fresh.transaction(lambda session: session.execute(text("TABLE owners")).all()) == []


def _change(path: Path, old: str, new: str) -> None:
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new))
