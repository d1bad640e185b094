"""Recognitions for tests that read ClickHouse."""

from typing import Any
from uuid import UUID

from analytics_sql.client import ClickHouseClient
from analytics_sql.recognitions import insert_recognitions, recognition_row
from common.records.frames import Box
from common.records.ids import recognition_id
from common.records.object_keys import crop_key, photo_key
from common.records.recognitions import Recognition

CAMERA = UUID(int=1)


def passed(
    owner_id: UUID,
    captured_ms: int,
    *,
    camera_id: UUID = CAMERA,
    track: str = "1",
    **changes: Any,
) -> Recognition:
    """Return the recognition of a pass. ``changes`` replace fields of the record."""
    identifier = recognition_id(captured_ms, camera_id, track)
    fields: dict[str, Any] = {
        "id": identifier,
        "owner_id": owner_id,
        "camera_id": camera_id,
        "camera_name": "Gate",
        "plate": "AB12CD",
        "confidence": 0.97,
        "character_confidences": (0.97,) * 6,
        "captured_ms": captured_ms,
        "first_seen_ms": captured_ms,
        "last_seen_ms": captured_ms,
        "readings_count": 4,
        "box": Box(x=10.5, y=20.0, width=120.0, height=40.0),
        "photo_key": photo_key(owner_id, identifier),
        "crop_key": crop_key(owner_id, identifier),
    }
    return Recognition(**fields | changes)


async def insert(client: ClickHouseClient, *recognitions: Recognition) -> None:
    await insert_recognitions(client, [recognition_row(record) for record in recognitions])
