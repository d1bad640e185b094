"""Rows, patterns and errors: what needs no server."""

from uuid import UUID

import pytest
from clickhouse_connect.driver.exceptions import DatabaseError, OperationalError, ProgrammingError
from hypothesis import given
from hypothesis import strategies as st

from analytics_sql.connection import QueryFailedError, clickhouse_errors
from analytics_sql.recognitions import like_pattern, recognition_row
from contracts.errors import InvalidInputError, MisconfiguredError, TransientError
from contracts.frames import Box
from contracts.ids import LONGEST_PASS_MS, recognition_id
from contracts.recognitions import Recognition, RecognitionSource

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
        region="DE",
        source=RecognitionSource.API,
    )


def test_row_of_a_record() -> None:
    row = recognition_row(_record())

    assert row.user_id == UUID(int=1)
    assert row.plate == "AB12CD"
    assert row.captured_ms == CAPTURED_MS
    assert row.box == Box(x=1.5, y=2, width=30, height=10)
    assert (row.photo_key, row.crop_key, row.region) == ("p", None, "DE")
    assert row.source is RecognitionSource.API


@pytest.mark.parametrize("captured_ms", [4_102_444_800_000, 2**48 - 1])
def test_a_time_beyond_the_table_is_invalid(captured_ms: int) -> None:
    with pytest.raises(InvalidInputError) as caught:
        recognition_row(_record(captured_ms))

    assert caught.value.code == "time_out_of_range"


def test_an_id_of_another_time_is_invalid() -> None:
    other = recognition_id(CAPTURED_MS - LONGEST_PASS_MS - 1, CAMERA, "track")

    with pytest.raises(InvalidInputError) as caught:
        recognition_row(_record(identifier=other))

    assert caught.value.code == "id_of_other_time"


@pytest.mark.parametrize(
    ("plate", "pattern"),
    [
        (None, ""),
        ("", ""),
        (" - ", ""),
        ("ab 1", "%AB1%"),
        ("100%", "%100\\%%"),
        ("a\\b", "%A\\\\B%"),
    ],
)
def test_like_pattern(plate: str | None, pattern: str) -> None:
    assert like_pattern(plate) == pattern


@given(st.text(max_size=20))
def test_special_characters_never_stand_alone(plate: str) -> None:
    inner = like_pattern(plate)[1:-1]

    assert "%" not in inner.replace("\\\\", "").replace("\\%", "")
    assert "_" not in inner.replace("\\\\", "").replace("\\_", "")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OperationalError("connection refused"), TransientError),
        (DatabaseError("memory", code=241), TransientError),
        (DatabaseError("busy", code=202), TransientError),
        (DatabaseError("killed mutation", code=341), TransientError),
        (DatabaseError("too many mutations", code=692), TransientError),
        (DatabaseError("no table", code=60), MisconfiguredError),
        (DatabaseError("no access", code=516), MisconfiguredError),
        (DatabaseError("syntax", code=62), QueryFailedError),
        (ProgrammingError("no session"), QueryFailedError),
    ],
)
def test_errors_come_in_our_family(error: Exception, expected: type[Exception]) -> None:
    with pytest.raises(expected) as caught, clickhouse_errors():
        raise error

    assert caught.value.__cause__ is error
