"""Creates recognitions for benchmarks."""

from uuid import UUID

from common.records.frames import Box
from common.records.ids import recognition_id
from common.records.recognitions import Recognition


def recognition(owner_id: UUID, number: int, captured_ms: int) -> Recognition:
    """Return a recognition. Each number below 10,000,000 gives a different plate."""
    camera_id = UUID(int=owner_id.int + 1 + number % 8)
    return Recognition(
        id=recognition_id(captured_ms, camera_id, str(number)),
        owner_id=owner_id,
        camera_id=camera_id,
        camera_name=f"camera {number % 8}",
        plate=f"AB{number:07}",
        confidence=0.93,
        character_confidences=(0.9,) * 9,
        captured_ms=captured_ms,
        first_seen_ms=captured_ms - 400,
        last_seen_ms=captured_ms + 400,
        readings_count=5,
        box=Box(x=1.5, y=2.5, width=100.0, height=30.0),
        photo_key=f"recognitions/{number}/photo.jpg",
        crop_key=f"recognitions/{number}/crop.jpg",
    )
