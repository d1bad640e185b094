"""JSON of the image call."""

import time

from pydantic import Field

from api.schemas import ResponseModel
from common.records.recognitions import CharacterOption, PlateReading
from recognition.workers.pool import ImageReadings

_DECIMALS = 10


class PlateResult(ResponseModel):
    """One plate of the image. Coordinates are pixels of the picture as a person sees it."""

    plate: str
    conf: float = Field(ge=0, le=100)
    char_confs: str = Field(examples=["0.9911;0.9856;0.9902;0.9737;0.9967;0.9644"])
    coordinate_left: int
    coordinate_top: int
    coordinate_right: int
    coordinate_bottom: int
    plate_type: str = Field(examples=["car", "two-row"])


class DemoAnswer(ResponseModel):
    """The plates found in an image."""

    plates: list[PlateResult]
    processing_time_ms: float
    image_width: int
    image_height: int


class RecognizeAnswer(DemoAnswer):
    """The plates found in an image, and the credits that are left."""

    credits_remaining: int


def demo_answer(readings: ImageReadings, started: float) -> DemoAnswer:
    """Return the answer to a call that began at ``started`` (seconds of ``perf_counter``)."""
    return DemoAnswer(
        plates=plate_results(readings),
        processing_time_ms=processing_time_ms(started),
        image_width=readings.width_px,
        image_height=readings.height_px,
    )


def processing_time_ms(started: float) -> float:
    """Return how long a call took that began at ``started`` (seconds of ``perf_counter``)."""
    return round((time.perf_counter() - started) * 1000, 1)


def plate_results(readings: ImageReadings) -> list[PlateResult]:
    """Return the plates of an image as the interface names their fields."""
    return [
        _plate_result(reading, readings.width_px, readings.height_px)
        for reading in readings.readings
    ]


def _plate_result(reading: PlateReading, width_px: int, height_px: int) -> PlateResult:
    box = reading.box
    return PlateResult(
        plate=reading.text,
        # Rounded far behind what the models mean, so that 0.87 gives 87 and not 86.999999999.
        conf=round(100 * reading.confidence, _DECIMALS),
        char_confs=";".join(f"{_best(options):.4f}" for options in reading.positions),
        coordinate_left=_within(box.x, width_px),
        coordinate_top=_within(box.y, height_px),
        coordinate_right=_within(box.x + box.width, width_px),
        coordinate_bottom=_within(box.y + box.height, height_px),
        plate_type=reading.plate_type,
    )


def _best(options: tuple[CharacterOption, ...]) -> float:
    return options[0].probability if options else 0.0


def _within(edge: float, limit: int) -> int:
    return min(max(round(edge), 0), limit)
