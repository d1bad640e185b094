"""Passes that are published before they end, as tracking does, with every kind of end. No I/O."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final
from uuid import UUID

import msgspec

from common.records.alerts import ProvisionalKind, ProvisionalRecognition
from common.records.ids import recognition_id
from common.records.recognitions import ProvisionalPlate, Recognition
from tests.records import recognition

EXPECTED: Final = tuple(f"EA0000{number}" for number in range(4))
"""First readings of the passes. An alert with these plates triggers early."""

LASTS_MS = 2_500


class End(IntEnum):
    """The ways in which a pass can end."""

    AS_PUBLISHED = 0
    AS_ANOTHER_EXPECTED = 1
    AS_A_STRANGER = 2
    AS_NOTHING = 3
    AS_ANOTHER_RECOGNITION = 4
    """The vehicle was followed by another track, whose recognition counts."""


@dataclass(frozen=True)
class EarlyPass:
    """The records of a pass, in the order in which they are published. None: no such record."""

    provisional: ProvisionalRecognition
    recognition: Recognition | None
    resolution: ProvisionalRecognition | None


def early_pass(number: int, owner_id: UUID, camera_id: UUID, captured_ms: int) -> EarlyPass:
    """Return a pass. ``number`` selects the kind of its end, in turn."""
    end = End(number % len(End))
    first, other = (EXPECTED[(number + turn) % len(EXPECTED)] for turn in range(2))
    seen = _seen(number, owner_id, camera_id, captured_ms, first)
    agreed = ProvisionalPlate(plate=first, confidence=seen.confidence, captured_ms=captured_ms)
    provisional = ProvisionalRecognition(kind=ProvisionalKind.AGREED, recognition=seen)
    over = msgspec.structs.replace(seen, provisional_plates=(agreed,))
    if end is End.AS_NOTHING:
        return EarlyPass(provisional, None, _resolution(over, None))
    if end is End.AS_ANOTHER_RECOGNITION:
        passed = _seen(-number - 1, owner_id, camera_id, captured_ms + LASTS_MS, first)
        return EarlyPass(provisional, passed, _resolution(over, passed))
    plates = {End.AS_PUBLISHED: first, End.AS_ANOTHER_EXPECTED: other}
    plate = plates.get(end, f"FB{number:06}")
    passed = msgspec.structs.replace(over, plate=plate, captured_ms=captured_ms + LASTS_MS // 2)
    return EarlyPass(provisional, passed, None)


def _resolution(over: Recognition, final_recognition: Recognition | None) -> ProvisionalRecognition:
    return ProvisionalRecognition(
        kind=ProvisionalKind.RESOLVED, recognition=over, final_recognition=final_recognition
    )


def _seen(
    number: int, owner_id: UUID, camera_id: UUID, captured_ms: int, plate: str
) -> Recognition:
    return msgspec.structs.replace(
        recognition(number, captured_ms=captured_ms),
        id=recognition_id(captured_ms, camera_id, f"early {number}"),
        owner_id=owner_id,
        camera_id=camera_id,
        plate=plate,
        photo_key=None,
        crop_key=None,
    )


def ends_after_seconds() -> Iterator[float]:
    """Yield the durations of successive passes, without end."""
    while True:
        # Durations: long enough for a kill in between, very short, and longer than a track.
        yield from (2.0, 0.2, 6.0)
