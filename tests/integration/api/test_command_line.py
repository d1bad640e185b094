"""The ``platestream`` command with a real database."""

import codecs
import csv
import getpass
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from typer.testing import CliRunner

from analytics_sql.migrate import migrate
from api.accounts import repository as accounts
from api.accounts.service import owner_by_email
from api.audit.tables import AuditEntry
from api.cameras.repository import confirm_camera, insert_camera
from api.cli.app import app
from api.db.database import Database
from api.db.engine import open_engine
from api.db.tables import ConfigOutbox
from api.erasure.service import delete_account
from api.outbox.outbox import republish_all
from api.security import credentials
from api.security import repository as key_rows
from api.security.credentials import matching_hashes
from api.security.permissions import Scope
from common.records.codec import decode
from common.records.owners import OwnerConfig
from common.records.topics import CONFIG_OWNERS
from common.settings import DatabaseSettings, KafkaSettings, S3Settings
from tests.integration.api.cameras import values as camera_values
from tests.services.clickhouse import ClickHouseAddress

pytestmark = pytest.mark.integration

OWNER = ("--email", "Owner@Platestream.example")
NOBODY = ("--email", "a@b.example")


@pytest.fixture(autouse=True)
def database_in_environment(
    api_database: DatabaseSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLATESTREAM_DATABASE_URL", api_database.database_url.get_secret_value())


def _run(*arguments: str, given: str = "") -> Any:
    result = CliRunner().invoke(app, [*arguments, "--json"], input=given)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def _create_owner(*more: str) -> Any:
    return _run("owner", "create", *OWNER, "--password-stdin", *more, given="long enough\n")


def test_an_owner_is_made_with_credits_and_time_zone() -> None:
    created = _create_owner("--credits", "25", "--timezone", "America/Sao_Paulo")

    assert set(created) == {"id", "email", "credits", "timezone", "createdAt"}
    assert created["email"] == "owner@platestream.example"
    assert (created["credits"], created["timezone"]) == (25, "America/Sao_Paulo")
    assert _run("owner", "list") == {"owners": [created]}


def test_an_account_can_have_its_own_limits() -> None:
    _create_owner()
    before = _run("owner", "limits", *OWNER)
    assert (before["own"], before["limits"]["cameras"]) == ({}, 1000)

    changed = _run("owner", "limits", *OWNER, "--set", "cameras=20", "--set", "alerts=3")
    assert changed["own"] == {"cameras": 20, "alerts": 3}
    assert changed["limits"] == before["limits"] | changed["own"]
    assert _run("owner", "limits", *OWNER) == changed

    assert _run("owner", "limits", *OWNER, "--unset", "cameras")["own"] == {"alerts": 3}


def test_stages_receive_the_limits_of_an_account(api_database: DatabaseSettings) -> None:
    owner_id = UUID(_create_owner()["id"])
    _run("owner", "limits", *OWNER, "--set", "deliveries_per_minute=20")
    _run("owner", "limits", *OWNER)
    _run("owner", "limits", *OWNER, "--unset", "deliveries_per_minute")
    _run("owner", "limits", *OWNER, "--set", "cameras=3")
    engine = open_engine(api_database)
    with Session(engine) as session, session.begin():
        assert republish_all(session) == 1
        published = _owner_limits(session, owner_id)
        delete_account(session, owner_id)
        left = _owner_limits(session, owner_id)
    engine.dispose()
    assert published == [{"deliveries_per_minute": 20}, None, {"cameras": 3}, {"cameras": 3}]
    assert left == [None, None]


def _owner_limits(session: Session, owner_id: UUID) -> list[object]:
    """Return the limits in an account's unpublished records, in order."""
    values = session.scalars(
        select(ConfigOutbox.value)
        .where(ConfigOutbox.topic == CONFIG_OWNERS.name, ConfigOutbox.key == str(owner_id))
        .order_by(ConfigOutbox.id)
    )
    return [value and decode(OwnerConfig, value).limits for value in values]


def test_the_audit_log_shows_actions_of_the_server_administrator(
    api_database: DatabaseSettings,
) -> None:
    _create_owner("--credits", "25")
    _run("owner", "limits", *OWNER, "--set", "cameras=20")
    engine = open_engine(api_database)
    with Session(engine) as session:
        entries = session.scalars(select(AuditEntry).order_by(AuditEntry.at)).all()
    engine.dispose()
    told = [(entry.action, entry.actor_kind, entry.actor_name) for entry in entries]
    actions = ("account.created", "person.joined", "credits.granted", "account.updated")
    assert told == [(action, "command", getpass.getuser()) for action in actions]
    assert entries[-1].changes == {"limits": {"before": {}, "after": {"cameras": 20}}}


@pytest.mark.parametrize(
    ("size", "sentence"),
    [
        ("cameras", "an integer from 1"),
        ("cameras=0", "an integer from 1"),
        ("cameras=-3", "an integer from 1"),
        ("cameras=1e9", "an integer from 1"),
        ("cameras=99999999999", "an integer from 1"),
        ("elephants=3", "limit 'elephants' is not one of alerts,"),
        ("people=3", "limit 'people' is not one of alerts,"),
    ],
)
def test_a_limit_that_makes_no_sense_changes_nothing(size: str, sentence: str) -> None:
    _create_owner()
    refused = CliRunner().invoke(
        app, ["owner", "limits", *OWNER, "--set", "alerts=5", "--set", size]
    )

    assert refused.exit_code == 1
    assert sentence in refused.stderr
    assert _run("owner", "limits", *OWNER)["own"] == {}


def test_a_new_password_ends_the_sessions_of_the_old_one(api_database: DatabaseSettings) -> None:
    _create_owner()
    engine = open_engine(api_database)
    with Session(engine) as session, session.begin():
        later = datetime.now(UTC) + timedelta(days=1)
        person = accounts.find_proven(session, "owner@platestream.example")
        assert person is not None
        key_rows.insert_session(session, person, b"token", later, max_sessions=5)

    changed = _run("owner", "password", *OWNER, "--password-stdin", given="another one\n")

    assert changed["email"] == "owner@platestream.example"
    with Session(engine) as session:
        (record,) = accounts.find_log_ins(session, "owner@platestream.example")
        assert matching_hashes("another one", (record.password_hash,))
        assert not matching_hashes("long enough", (record.password_hash,))
        assert key_rows.find_session(session, b"token") is None
    engine.dispose()


def test_credits_are_granted_and_never_below_zero() -> None:
    _create_owner("--credits", "5")
    assert _run("owner", "credits", *OWNER, "--grant", "7", "--reason", "gift")["credits"] == 12
    taken = ["owner", "credits", *OWNER, "--grant", "-13", "--reason", "too much"]
    result = CliRunner().invoke(app, taken)

    assert (result.exit_code, "must not become negative" in result.stderr) == (1, True)
    assert _run("owner", "list")["owners"][0]["credits"] == 12


@pytest.fixture
def clickhouse_in_environment(
    clickhouse_address: ClickHouseAddress, monkeypatch: pytest.MonkeyPatch
) -> ClickHouseAddress:
    """A database with this release's schema. The environment contains its address."""
    for name, value in clickhouse_address.settings().model_dump().items():
        shown = value.get_secret_value() if hasattr(value, "get_secret_value") else value
        monkeypatch.setenv(f"PLATESTREAM_{name.upper()}", str(shown))
    client = clickhouse_address.client()
    migrate(client, retention_days=36_500)
    client.close()
    return clickhouse_address


@pytest.mark.parametrize("file_format", ["csv", "parquet", "arrow"])
def test_recognitions_are_exported(
    clickhouse_in_environment: ClickHouseAddress, tmp_path: Path, file_format: str
) -> None:
    owner = _create_owner()
    client = clickhouse_in_environment.client()
    client.command(
        "INSERT INTO recognitions (user_id, id, ts, plate)"
        f" SELECT toUUID('{owner['id']}'), generateUUIDv7(), now64(3) - number, 'P' || number"
        " FROM numbers(100010)"
    )
    client.close()
    output = tmp_path / f"rows.{file_format}"

    found = _run("export", *OWNER, "--output", str(output), "--format", file_format)

    assert found["bytes"] == sum(path.stat().st_size for path in tmp_path.iterdir())
    assert sorted(found["files"]) == sorted(str(path) for path in tmp_path.iterdir())
    if file_format == "csv":
        lines = output.read_text().splitlines()
        assert len(lines) == 100_011
        assert lines[0].startswith('"id","userId"')
        assert len(set(lines)) == 100_011
    else:
        assert len(found["files"]) == 2
    again = CliRunner().invoke(app, ["export", *OWNER, "--output", str(output)])
    assert again.exit_code == 1
    assert "already exists" in again.output


def test_an_export_for_excel_has_local_times_and_one_byte_order_mark(
    clickhouse_in_environment: ClickHouseAddress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = _create_owner()
    _run("owner", "update", *OWNER, "--timezone", "Asia/Kolkata")
    client = clickhouse_in_environment.client()
    client.command(
        "INSERT INTO recognitions (user_id, id, ts, plate, camera_name)"
        f" SELECT toUUID('{owner['id']}'), generateUUIDv7(),"
        " fromUnixTimestamp64Milli(1790000000000 + number, 'UTC'), 'P' || number, '=Ä'"
        " FROM numbers(5)"
    )
    client.close()
    monkeypatch.setattr("api.cli.exports._ROWS", 2)
    output = tmp_path / "rows.csv"

    _run("export", *OWNER, "--output", str(output), "--excel", "--separator", "semicolon")

    written = output.read_bytes()
    assert written.startswith(codecs.BOM_UTF8)
    assert written.count(codecs.BOM_UTF8) == 1
    rows = list(csv.DictReader(written.decode("utf-8-sig").splitlines(), delimiter=";"))
    assert [row["plate"] for row in rows] == ["P4", "P3", "P2", "P1", "P0"]
    assert {(row["localTime"], row["cameraName"]) for row in rows} == {
        ("2026-09-21 19:43:20", "'=Ä")
    }
    refused = CliRunner().invoke(
        app, ["export", *OWNER, "--output", "x", "--format", "parquet", "--excel"]
    )
    assert (refused.exit_code, "require --format csv" in refused.output) == (1, True)


def test_an_export_that_broke_off_goes_on(
    clickhouse_in_environment: ClickHouseAddress, tmp_path: Path
) -> None:
    owner = _create_owner()
    client = clickhouse_in_environment.client()
    client.command(
        "INSERT INTO recognitions (user_id, id, ts, plate)"
        f" SELECT toUUID('{owner['id']}'), generateUUIDv7(),"
        " fromUnixTimestamp64Milli(1790000000000 + number, 'UTC'), 'P' || number FROM numbers(5)"
    )
    third = client.command("SELECT id FROM recognitions WHERE plate = 'P2'")
    client.close()
    output = tmp_path / "rows.csv"
    output.write_text("names\nP4\nP3\nP2\n")

    _run("export", *OWNER, "--output", str(output), "--after", f"1790000000002_{third}")

    lines = output.read_text().splitlines()
    assert lines[:4] == ["names", "P4", "P3", "P2"]
    assert ['"P1"' in lines[4], '"P0"' in lines[5], len(lines)] == [True, True, 6]


def test_an_analyst_of_one_account_needs_a_clickhouse_server(
    clickhouse_in_environment: ClickHouseAddress,
) -> None:
    _create_owner()

    for command in (["create", *OWNER], ["list"], ["remove", *OWNER]):
        result = CliRunner().invoke(app, ["analyst", *command])
        assert result.exit_code == 1
        assert "per-account analysts require an external ClickHouse server" in result.output
        assert len(result.output.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("owner", "create", *OWNER, "--password", "long enough"), "already exists"),
        (("owner", "create", *NOBODY, "--password", "short"), "8 to 1024 characters"),
        (
            ("owner", "create", *NOBODY, "--password", "long enough", "--timezone", "Mars"),
            "unknown time zone",
        ),
        (("owner", "password", *OWNER, "--password", "short"), "8 to 1024"),
        (("owner", "password", *NOBODY, "--password", "long enough"), "no person has"),
        (("key", "create", *OWNER, "--name", "x", "--scopes", "all,cameras:read"), "unknown scope"),
        (("key", "create", *OWNER, "--name", "x", "--scopes", ""), "no scopes given"),
        (("key", "create", *NOBODY, "--name", "x", "--scopes", "all"), "no account"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_what_makes_no_sense_is_refused_in_a_sentence(
    arguments: tuple[str, ...], said: str
) -> None:
    _create_owner()
    result = CliRunner().invoke(app, list(arguments))
    assert (result.exit_code, said in result.stderr) == (1, True), result.output
    assert "Traceback" not in result.output
    assert len(_run("owner", "list")["owners"]) == 1


def test_a_key_is_shown_once() -> None:
    _create_owner()
    made = _run("key", "create", *OWNER, "--name", "ci", "--scopes", "credits:read, cameras:read")

    assert credentials.is_api_key(made["plainKey"])
    assert made["plainKey"].startswith(made["prefix"])
    assert made["scopes"] == ["cameras:read", "credits:read"]
    assert (made["name"], made["enabled"], made["expiresAt"]) == ("ci", True, None)
    everything = _run("key", "create", *OWNER, "--name", "all", "--scopes", "all")
    assert everything["scopes"] == sorted(Scope)


def test_a_camera_is_listed_without_its_password(database: Database) -> None:
    _create_owner()

    def work(session: Session) -> str:
        owner = owner_by_email(session, "owner@platestream.example")
        row = insert_camera(session, owner.id, camera_values("Gate"))
        assert confirm_camera(session, row.id)
        return str(row.id)

    with database.engine.begin() as connection:
        camera_id = work(Session(connection))
    (camera,) = _run("camera", "list")["cameras"]

    assert (camera["id"], camera["name"]) == (camera_id, "Gate")
    assert camera["rtspUrl"] == "rtsp://viewer:***@10.0.0.8/1"


def test_the_stack_check_passes_a_good_stack_and_fails_another(
    monkeypatch: pytest.MonkeyPatch,
    clickhouse_address: ClickHouseAddress,
    kafka_topics: KafkaSettings,
    s3_settings: S3Settings,
    tmp_path: Path,
) -> None:
    clickhouse = clickhouse_address.settings()
    client = clickhouse_address.client()
    migrate(client, retention_days=400)
    client.close()
    values = {
        "CLICKHOUSE_URL": clickhouse.clickhouse_url,
        "CLICKHOUSE_USER": clickhouse.clickhouse_user,
        "CLICKHOUSE_PASSWORD": clickhouse.clickhouse_password.get_secret_value(),
        "CLICKHOUSE_DATABASE": clickhouse.clickhouse_database,
        "KAFKA_BOOTSTRAP_SERVERS": kafka_topics.kafka_bootstrap_servers,
        "KAFKA_TOPIC_PREFIX": kafka_topics.kafka_topic_prefix,
        "KAFKA_PARTITIONS": kafka_topics.kafka_partitions,
        "S3_ENDPOINT": s3_settings.s3_endpoint,
        "S3_ACCESS_KEY": s3_settings.s3_access_key,
        "S3_SECRET_KEY": s3_settings.s3_secret_key.get_secret_value(),
        "S3_BUCKET": s3_settings.s3_bucket,
    }
    for name, value in values.items():
        monkeypatch.setenv(f"PLATESTREAM_{name}", str(value))
    assert _run("stack", "check") == {
        "status": "ready",
        "checks": dict.fromkeys(("postgres", "clickhouse", "s3", "kafka"), "ok"),
        "warnings": [],
    }
    bucket = s3_settings.s3_bucket
    assert _run("stack", "make-bucket") == {"bucket": bucket, "made": False}
    monkeypatch.setenv("PLATESTREAM_S3_BUCKET", f"{bucket}-2")
    assert _run("stack", "make-bucket") == {"bucket": f"{bucket}-2", "made": True}

    monkeypatch.setenv("PLATESTREAM_MQTT_HOST", "broker.example")
    monkeypatch.setenv("PLATESTREAM_MQTT_PASSWORD", "hunter2")
    warned = CliRunner().invoke(app, ["stack", "check"])
    assert warned.exit_code == 0
    assert "warning\tthe MQTT password sent to broker.example:1883" in warned.stdout
    assert "hunter2" not in warned.output

    monkeypatch.setenv("PLATESTREAM_KAFKA_TOPIC_PREFIX", "nobody-")
    monkeypatch.setenv("PLATESTREAM_S3_ENDPOINT", "http://127.0.0.1:1")
    arguments = ["stack", "check", "--json", "--api-url", "http://127.0.0.1:1"]
    result = CliRunner().invoke(app, arguments)
    said = json.loads(result.stdout)
    assert (result.exit_code, said["status"]) == (1, "not ready")
    assert "nobody-recognitions" in said["checks"]["kafka"]
    assert said["checks"]["api"] == "the API is not responding"
    assert {name for name, text in said["checks"].items() if text == "ok"} == {
        "postgres",
        "clickhouse",
    }


def test_partitions_are_as_many_as_are_set(
    kafka_topics: KafkaSettings, api_database: DatabaseSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner_id = UUID(_create_owner()["id"])
    engine = open_engine(api_database)
    with Session(engine) as session, session.begin():
        insert_camera(session, owner_id, camera_values())
        session.query(ConfigOutbox).delete()
    prefix = kafka_topics.kafka_topic_prefix
    monkeypatch.setenv("PLATESTREAM_KAFKA_BOOTSTRAP_SERVERS", kafka_topics.kafka_bootstrap_servers)
    monkeypatch.setenv("PLATESTREAM_KAFKA_TOPIC_PREFIX", prefix)
    monkeypatch.setenv("PLATESTREAM_KAFKA_PARTITIONS", "5")
    found = _run("stack", "partitions")
    assert found == {"partitions": [1], "wanted": 5, "running": [], "waiting": {}}
    refused = CliRunner().invoke(app, ["stack", "partitions", "--apply"])
    assert "the service is still running" in refused.stderr
    engine.dispose()

    changed = _run("stack", "partitions", "--apply")

    assert changed == {"partitions": [5], "wanted": 5, "running": [], "waiting": {}}
    with Session(engine) as session:
        assert len(session.scalars(select(ConfigOutbox)).all()) == 1
    engine.dispose()
