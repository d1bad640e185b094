"""The query parameters of the recognitions list."""

from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError

from analytics_sql.recognitions import RecognitionFilter
from api.recognitions.schemas import RecognitionQuery
from common.plates.matching import MatchMode

OWNER = UUID(int=7)


def _wanted(**parameters: Any) -> RecognitionFilter:
    return RecognitionQuery.model_validate(parameters).wanted(OWNER)


def _faults(**parameters: Any) -> dict[str, str]:
    with pytest.raises(ValidationError) as caught:
        RecognitionQuery.model_validate(parameters)
    return {str(fault["loc"][0]): fault["msg"] for fault in caught.value.errors()}


def test_nothing_asked_is_everything() -> None:
    assert _wanted() == RecognitionFilter(user_id=OWNER)


def test_each_parameter_has_its_place() -> None:
    wanted = _wanted(
        plate="ab-1",
        match="prefix",
        cameraId=str(UUID(int=1)),
        **{"from": "1970-01-01T00:00:01Z", "to": "1970-01-01T00:00:02Z"},
        minConfidence="0.25",
    )

    assert wanted == RecognitionFilter(
        OWNER, "AB1", UUID(int=1), 1000, 2000, 0.25, match=MatchMode.PREFIX
    )


@pytest.mark.parametrize("plate", [None, "", " - "])
def test_a_blank_substring_is_no_condition(plate: str | None) -> None:
    assert _wanted(plate=plate) == _wanted(plate=plate, match="substring") == _wanted()


def test_one_spelling_of_a_wildcard_search() -> None:
    assert _wanted(plate="ab**?1", match="wildcard").plate == "AB*?1"


@pytest.mark.parametrize(
    ("plate", "match"),
    [
        *[
            (plate, match)
            for match in ("exact", "prefix", "wildcard", "fuzzy")
            for plate in ("", "-")
        ],
        *[("A" * 17, match) for match in ("exact", "prefix", "wildcard", "fuzzy")],
        ("*", "wildcard"),
        ("? *", "wildcard"),
        ("AB*", "fuzzy"),
        ("AB？", "fuzzy"),
    ],
)
def test_a_plate_that_makes_no_sense_is_refused(plate: str, match: str) -> None:
    assert list(_faults(plate=plate, match=match)) == ["plate"]


def test_a_mode_needs_a_plate() -> None:
    assert _faults(match="exact") == {"plate": "Value error, is required with match=exact"}


@pytest.mark.parametrize("value", ["-0.01", "1.01", "nan", "inf", "", "high"])
def test_confidence_out_of_range_is_refused(value: str) -> None:
    assert list(_faults(minConfidence=value)) == ["minConfidence"]


@pytest.mark.parametrize("value", ["0", "1", "0.5"])
def test_confidence_in_range_is_taken(value: str) -> None:
    assert _wanted(minConfidence=value).min_confidence == float(value)


def test_all_faults_are_named_at_once() -> None:
    faults = _faults(
        plate="*", match="wildcard", limit="0", minConfidence="2", cameraId="x", to="soon"
    )

    assert set(faults) == {"plate", "limit", "minConfidence", "cameraId", "to"}
    assert set(_faults(match="regex", limit="0")) == {"match", "limit"}


def test_a_text_without_end_is_refused_before_it_is_read() -> None:
    assert _faults(plate="A" * 257) == {"plate": "String should have at most 256 characters"}
    assert _wanted(plate="A" * 256).plate == "A" * 256
