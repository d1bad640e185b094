"""Recognitions and alerts for tests of early triggers."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from common.records.alerts import AlertConfig, PlateMatchMode
from common.records.ids import recognition_id
from common.records.recognitions import ProvisionalPlate, Recognition
from tests.records import alert, recognition
from tests.unit.streams.alerts.world import START_MS

_TRACK = UUID(int=0x7AC)


def seen_as(
    plate: str, after_ms: int = 0, *, track: UUID = _TRACK, provisional_plates: Sequence[str] = ()
) -> Recognition:
    captured_ms = START_MS + after_ms
    made = recognition(1, captured_ms=captured_ms)
    return msgspec.structs.replace(
        made,
        id=recognition_id(START_MS, made.camera_id, str(track)),
        plate=plate,
        provisional_plates=tuple(
            ProvisionalPlate(plate=each, confidence=0.9, captured_ms=START_MS)
            for each in provisional_plates
        ),
    )


def specific(number: int = 1, *plates: str, **changed: object) -> AlertConfig:
    mode = PlateMatchMode.SPECIFIC
    fields: dict[str, object] = {"plate_match_mode": mode, "plates": plates, "early": True}
    return alert(number, **(fields | changed))


def other_than(plate: str) -> Recognition:
    """Return a recognition of the same vehicle with another ID."""
    return seen_as(plate, 700, track=UUID(int=0x07))
