"""The JSON of a page has exactly the fields of the API description."""

import json
from datetime import UTC, datetime
from uuid import UUID

import pytest

from analytics_sql.recognitions import RecognitionRow
from api.recognitions.repository import Correction
from api.recognitions.schemas import RecognitionList, page_json, recognition_body
from api.recognitions.service import Page
from common.records.frames import Box
from common.records.recognitions import Direction, RecognitionSource

FULL = RecognitionRow(
    id=UUID(int=1),
    user_id=UUID(int=2),
    camera_id=UUID(int=3),
    camera_name='Gate "Ж"\n',
    plate="AB12CDE",
    confidence=0.9913555354339735,
    captured_ms=1_790_000_000_007,
    box=Box(x=185.5, y=195.0, width=264.5, height=69.25),
    photo_key="recognitions/a/photo.jpg",
    crop_key="recognitions/a/crop.jpg",
    character_confidences=(0.9913555354339735,) * 7,
    first_seen_ms=1_789_999_999_000,
    last_seen_ms=1_790_000_001_000,
    readings_count=9,
    region="Portugal",
    region_confidence=0.93,
    plate_type="two-row",
    direction=Direction.TOWARDS,
)
BARE = RecognitionRow(
    id=UUID(int=4),
    user_id=UUID(int=2),
    camera_id=UUID(int=0),
    camera_name="API",
    plate="X1",
    confidence=1.0,
    captured_ms=0,
    character_confidences=(),
    first_seen_ms=0,
    last_seen_ms=0,
    readings_count=1,
    source=RecognitionSource.API,
)
CORRECTION = Correction(
    recognition_id=FULL.id,
    camera_id=FULL.camera_id,
    captured_ms=FULL.captured_ms,
    reading=FULL.plate,
    photo_key=None,
    crop_key=None,
    plate=None,
    region=None,
    corrected_by="gate@example.org",
    corrected_at=datetime(2026, 11, 21, 16, 32, 52, tzinfo=UTC),
)


@pytest.mark.parametrize("next_key", [None, "a-key"])
def test_a_page_is_as_the_models_write_it(next_key: str | None) -> None:
    models = RecognitionList(
        recognitions=[
            recognition_body(found, photo_url=found.photo_key, crop_url=found.crop_key)
            for found in (FULL, BARE)
        ],
        next_key=next_key,
    )
    written = page_json(Page((FULL, BARE), next_key))

    assert json.loads(written) == json.loads(models.model_dump_json())
    assert RecognitionList.model_validate_json(written) == models


def test_a_correction_is_shown_with_the_reading() -> None:
    written = json.loads(page_json(Page((FULL, BARE), None), {FULL.id: CORRECTION}))
    one, other = written["recognitions"]
    model = recognition_body(FULL, CORRECTION, photo_url=FULL.photo_key, crop_url=FULL.crop_key)

    assert one["plate"] == FULL.plate
    assert one["correction"] == {
        "plate": None,
        "correctedBy": "gate@example.org",
        "correctedAt": "2026-11-21T16:32:52.000Z",
    }
    assert one == json.loads(model.model_dump_json())
    assert "correction" not in other


def test_an_empty_page_is_written() -> None:
    assert page_json(Page((), None)) == b'{"recognitions":[],"nextKey":null}'
