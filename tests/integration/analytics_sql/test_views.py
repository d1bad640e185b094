"""The views for analysts: no row counts twice, and every column has the documented meaning."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from clickhouse_connect.driver.client import Client

from common.records.ids import NIL_UUID, recognition_id
from common.records.object_keys import crop_key, photo_key
from tests.services.clickhouse import ClickHouseAddress

pytestmark = pytest.mark.integration

OWNER, GATE = UUID(int=1), UUID(int=10)
# Start of the rows: 2026-11-01 00:00:00 UTC.
START_MS = 1_793_491_200_000
VIEWS = (
    "analysis_recognitions",
    "analysis_alert_triggers",
    "analysis_delivery_attempts",
    "analysis_passes",
    "analysis_cameras",
    "analysis_alerts",
)
_TIMES = {
    "recognitions": "ts",
    "alert_triggers": "ts",
    "delivery_attempts": "occurred",
    "pass_outcomes": "ts",
}
PAGE = Path(__file__).resolve().parents[3] / "docs" / "analytics-sql.md"


@pytest.fixture
def client(migrated_clickhouse: ClickHouseAddress) -> Iterator[Client]:
    """A client of a database with this release's schema."""
    client = migrated_clickhouse.client()
    yield client
    client.close()


def _time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def _insert(client: Client, table: str, **values: object) -> None:
    client.insert(table, [list(values.values())], column_names=list(values))


def _rows(client: Client, view: str) -> list[dict[str, Any]]:
    return list(client.query(f"SELECT * FROM {view} ORDER BY ts, id").named_results())


class TestRecognitions:
    def _recognition(self, client: Client, **changed: object) -> UUID:
        identifier = recognition_id(START_MS - 1, GATE, str(uuid4()))
        values = {"user_id": OWNER, "id": identifier, "ts": _time(START_MS), "camera_id": GATE}
        _insert(client, "recognitions", **{**values, **changed})
        return identifier

    def test_a_row_that_was_written_twice_comes_once(self, client: Client) -> None:
        client.command("SYSTEM STOP MERGES recognitions")
        identifier = self._recognition(client)
        self._recognition(client, id=identifier)

        assert client.command("SELECT count() FROM recognitions") == 2
        assert client.command("SELECT count() FROM analysis_recognitions") == 1

    def test_what_is_absent_is_null(self, client: Client) -> None:
        self._recognition(client, camera_id=NIL_UUID, source="api")

        (row,) = _rows(client, "analysis_recognitions")

        absent = {name for name, value in row.items() if value is None}
        assert absent == {
            "camera_id",
            "region",
            "region_confidence",
            "direction",
            "box_x",
            "box_y",
            "box_width",
            "box_height",
            "photo_key",
            "crop_key",
        }

    def test_what_is_there_is_reported(self, client: Client) -> None:
        box = {"box_x": 0.0, "box_y": 2.5, "box_width": 100.0, "box_height": 30.0}
        told = {"region_confidence": 0.75, "direction": "left"}
        self._recognition(client, region="Italy", readings_count=5, **box, **told)

        (row,) = _rows(client, "analysis_recognitions")

        assert {name: row[name] for name in (*box, *told)} == box | told
        assert (row["region"], row["readings"], row["camera_id"]) == ("Italy", 5, GATE)

    def test_keys_of_images_are_those_of_the_service(self, client: Client) -> None:
        # The date in the ID is the day before the row's time.
        derived = self._recognition(client, photo_key="=", crop_key="=")
        given = self._recognition(client, photo_key="a/photo.png")

        keys = {
            row["id"]: (row["photo_key"], row["crop_key"])
            for row in _rows(client, "analysis_recognitions")
        }

        assert "/2026/10/31/" in photo_key(OWNER, derived)
        assert keys == {
            derived: (photo_key(OWNER, derived), crop_key(OWNER, derived)),
            given: ("a/photo.png", None),
        }


class TestAlertTriggers:
    def _trigger(self, client: Client, number: int, phase: str, **changed: object) -> None:
        values = {
            "user_id": OWNER,
            "alert_id": UUID(int=20),
            "ts": _time(START_MS + number),
            "id": UUID(int=number),
            "plate": "AB12CD",
            "phase": phase,
        }
        _insert(client, "alert_triggers", **{**values, **changed})

    def test_a_trigger_is_as_it_was_resolved(self, client: Client) -> None:
        for phase in ("early", "withdrawn"):
            self._trigger(client, 1, phase)

        (row,) = _rows(client, "analysis_alert_triggers")

        assert (row["phase"], row["counts"], row["fired_early"]) == ("withdrawn", False, True)

    @pytest.mark.parametrize(
        ("phase", "early"), [("final", False), ("confirmed", True), ("corrected", True)]
    )
    def test_triggers_that_stand_count(self, client: Client, phase: str, early: bool) -> None:
        self._trigger(client, 1, phase)

        (row,) = _rows(client, "analysis_alert_triggers")

        assert (row["counts"], row["fired_early"], row["plate"]) == (True, early, "AB12CD")

    def test_a_plate_past_retention_is_null(self, client: Client) -> None:
        self._trigger(client, 1, "final", plate="", camera_id=NIL_UUID)

        (row,) = _rows(client, "analysis_alert_triggers")

        assert (row["plate"], row["camera_id"]) == (None, None)


class TestDeliveryAttempts:
    def test_what_an_attempt_does_not_have_is_null(self, client: Client) -> None:
        for _ in range(2):
            _insert(
                client,
                "delivery_attempts",
                user_id=OWNER,
                webhook_id=UUID(int=30),
                occurred=datetime.now(UTC),
                endpoint=str(UUID(int=30)),
                delivery="a record with plates",
            )

        rows = _rows(client, "analysis_delivery_attempts")

        assert "delivery" not in rows[0]
        absent = {name for name, value in rows[0].items() if value is None}
        assert absent == {"alert_id", "requested_at", "status", "error", "next_attempt"}
        assert (rows[0]["webhook_id"], rows[0]["channel"]) == (UUID(int=30), "http")

    def test_what_an_attempt_has_is_shown(self, client: Client) -> None:
        _insert(
            client,
            "delivery_attempts",
            user_id=OWNER,
            alert_id=UUID(int=20),
            occurred=datetime.now(UTC),
            endpoint="email-1",
            requested_ms=START_MS,
            status=550,
            error="no such mailbox",
            next_attempt=_time(START_MS),
        )

        (row,) = _rows(client, "analysis_delivery_attempts")

        assert (row["webhook_id"], row["channel"], row["status"]) == (None, "email", 550)
        stored = client.query(
            "SELECT toUnixTimestamp64Milli(assumeNotNull(requested_at)),"
            " toUnixTimestamp64Milli(assumeNotNull(next_attempt)) FROM analysis_delivery_attempts"
        ).result_rows
        assert stored == [(START_MS, START_MS)]


class TestPasses:
    def test_accepted_passes_are_recognitions_of_cameras(self, client: Client) -> None:
        now = datetime.now(UTC)
        for number, source in enumerate(("camera", "api", "camera")):
            # The last row is written twice.
            for _ in range(1 + number // 2):
                _insert(
                    client,
                    "recognitions",
                    user_id=OWNER,
                    id=UUID(int=number),
                    ts=now,
                    camera_id=GATE if source == "camera" else NIL_UUID,
                    source=source,
                )
        for number, source, accepted in ((3, "camera", False), (4, "api", True), (4, "api", True)):
            _insert(
                client,
                "pass_outcomes",
                user_id=OWNER,
                id=UUID(int=number),
                ts=now,
                camera_id=GATE if source == "camera" else NIL_UUID,
                source=source,
                accepted=accepted,
            )

        rows = client.query(
            "SELECT toString(id), camera_id IS NULL, source, accepted FROM analysis_passes"
            " ORDER BY id"
        ).result_rows

        assert rows == [
            (str(UUID(int=0)), 0, "camera", True),
            (str(UUID(int=2)), 0, "camera", True),
            (str(UUID(int=3)), 0, "camera", False),
            (str(UUID(int=4)), 1, "api", True),
        ]


@pytest.mark.parametrize("view", VIEWS[:4])
def test_conditions_reach_the_primary_key(client: Client, view: str) -> None:
    for table, time in _TIMES.items():
        client.command(
            f"INSERT INTO {table} (user_id, {time}) SELECT toUUID('{OWNER}'),"
            " now64(3) - toIntervalDay(number) FROM numbers(80)"
        )
    sql = (
        f"EXPLAIN indexes = 1 SELECT count() FROM {view}"
        " WHERE user_id = {owner:UUID} AND ts >= now() - INTERVAL 1 DAY"
    )

    plan = "\n".join(row[0] for row in client.query(sql, {"owner": OWNER}).result_rows)

    tables = 2 if view == "analysis_passes" else 1
    keys = [part.split("Condition:")[0] for part in plan.split("PrimaryKey")[1:]]
    assert len(keys) == tables, plan
    for key in keys:
        assert "user_id" in key, plan
        assert "ts" in key or "occurred" in key, plan
    assert plan.count("Partition") == tables, plan


@pytest.mark.parametrize("view", VIEWS)
def test_every_column_is_described_in_the_database_and_on_the_page(
    client: Client, view: str
) -> None:
    section = PAGE.read_text(encoding="utf-8").split(f": `{view}`")[1].split("\n## ")[0]
    listed = "".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))

    columns = client.query(f"DESCRIBE {view}").result_rows

    assert columns
    for name, _, _, _, comment, *_ in columns:
        assert comment, name
        assert f"`{name}`" in listed, name
