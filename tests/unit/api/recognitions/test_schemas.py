"""The JSON of a page is what the description says of it, to the field."""

import json
from uuid import UUID

import pytest

from analytics_sql.recognitions import RecognitionRow
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


def test_an_empty_page_is_written() -> None:
    assert page_json(Page((), None)) == b'{"recognitions":[],"nextKey":null}'
