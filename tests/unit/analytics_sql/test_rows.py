"""Recognitions as table rows, and their conversion back."""

import re
from uuid import UUID

import msgspec
import pytest

from analytics_sql.migrate import migrations
from analytics_sql.rows import (
    RECOGNITIONS,
    read_recognition,
    recognition_row,
)
from common.errors import InvalidInputError
from common.records.frames import Box
from common.records.ids import MAX_PASS_MS, recognition_id
from common.records.object_keys import photo_key
from common.records.recognitions import Direction, Recognition, RecognitionSource

CAMERA = UUID(int=7)
CAPTURED_MS = 1_795_000_000_123


def _record(captured_ms: int = CAPTURED_MS, identifier: UUID | None = None) -> Recognition:
    return Recognition(
        id=identifier or recognition_id(captured_ms, CAMERA, "track"),
        owner_id=UUID(int=1),
        camera_id=CAMERA,
        camera_name="Gate",
        plate="ab-12 cd",
        confidence=0.93,
        character_confidences=(0.9, 0.96),
        captured_ms=captured_ms,
        first_seen_ms=captured_ms - 500,
        last_seen_ms=captured_ms + 500,
        readings_count=4,
        box=Box(x=1.5, y=2, width=30, height=10),
        photo_key="p",
        region="Germany",
        region_confidence=0.75,
        source=RecognitionSource.API,
        direction=Direction.AWAY,
    )


def test_row_of_a_record() -> None:
    row = recognition_row(_record())

    assert row.user_id == UUID(int=1)
    assert row.plate == "AB12CD"
    assert row.captured_ms == CAPTURED_MS
    assert row.box == Box(x=1.5, y=2, width=30, height=10)
    assert (row.photo_key, row.crop_key, row.region) == ("p", None, "Germany")
    assert row.source is RecognitionSource.API


@pytest.mark.parametrize("captured_ms", [4_102_444_800_000, 2**48 - 1])
def test_a_time_beyond_the_table_is_invalid(captured_ms: int) -> None:
    with pytest.raises(InvalidInputError) as caught:
        recognition_row(_record(captured_ms))

    assert caught.value.code == "time_out_of_range"


def test_an_id_of_another_time_is_invalid() -> None:
    other = recognition_id(CAPTURED_MS - MAX_PASS_MS - 1, CAMERA, "track")

    with pytest.raises(InvalidInputError) as caught:
        recognition_row(_record(identifier=other))

    assert caught.value.code == "id_of_other_time"


def test_what_is_written_is_read_unchanged() -> None:
    row = recognition_row(_record())
    names = [column.name for column in RECOGNITIONS.columns]
    written = dict(
        zip(names, (values[0] for values in RECOGNITIONS.column_values([row])), strict=True)
    )
    times = {"captured_ms": "ts", "first_seen_ms": "first_seen", "last_seen_ms": "last_seen"}
    read = {name: written.pop(column) for name, column in times.items()} | written
    assert read_recognition(dict(read)) == row


def test_an_absent_region_and_direction_are_empty() -> None:
    row = msgspec.structs.replace(
        recognition_row(_record()), region_confidence=None, direction=None
    )
    names = [column.name for column in RECOGNITIONS.columns]
    values = [values[0] for values in RECOGNITIONS.column_values([row])]
    written = dict(zip(names, values, strict=True))

    assert (written["region_confidence"], written["direction"]) == (0.0, "")


def test_keys_that_are_derived_and_boxes_that_are_not_there() -> None:
    record = _record()
    row = msgspec.structs.replace(
        recognition_row(record),
        photo_key=photo_key(record.owner_id, record.id),
        crop_key=None,
        box=None,
        region=None,
    )
    columns = zip(RECOGNITIONS.columns, RECOGNITIONS.column_values([row]), strict=True)
    written = {column.name: values[0] for column, values in columns}

    assert (written["photo_key"], written["crop_key"], written["region"]) == ("=", "", "")
    assert [written[f"box_{side}"] for side in ("x", "y", "width", "height")] == [0.0] * 4


def test_every_column_of_the_table_is_written() -> None:
    up, _, _ = migrations()[0].up[0].partition("ENGINE")
    declared = dict(
        re.findall(r"^    ([a-z_]+) (.*?)(?: (?:CODEC|DEFAULT).*)?,$", up, re.MULTILINE)
    )
    added = "\n".join(statement for each in migrations()[1:] for statement in each.up)
    declared |= dict(
        re.findall(
            r"^ALTER TABLE recognitions ADD COLUMN IF NOT EXISTS ([a-z_]+)"
            r" (.*?)(?: (?:DEFAULT|MATERIALIZED) .*)?$",
            added,
            re.MULTILINE,
        )
    )
    written = {column.name: column.type for column in RECOGNITIONS.columns}

    assert {name: declared[name] for name in written} == written
    assert set(declared) - set(written) == {"ingested_at", "id_hash"}
