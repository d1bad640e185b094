"""A page of recognitions as JSON.

The shape is :class:`RecognitionList`, which describes it and which a test holds against this. Up to
200 rows a call are written here without a model for each: that was a third of the call's CPU.
"""

from uuid import UUID

import msgspec

from analytics_sql.recognitions import ListedRecognition
from api.recognitions.service import Page
from contracts.frames import Box
from contracts.moments import format_timestamp


class _Item(msgspec.Struct, rename="camel", omit_defaults=True):
    """One row; what is None is left out."""

    id: UUID
    user_id: UUID
    camera_id: UUID
    camera_name: str
    plate: str
    confidence: float
    timestamp: str
    photo_url: str | None = None
    crop_url: str | None = None
    plate_coordinates: Box | None = None


class _List(msgspec.Struct, rename="camel"):
    recognitions: list[_Item]
    next_key: str | None


_encoder = msgspec.json.Encoder()


def page_json(page: Page) -> bytes:
    """Return the body of the list's answer. Image fields are storage keys here."""
    return _encoder.encode(_List([_item(found) for found in page.recognitions], page.next_key))


def _item(found: ListedRecognition) -> _Item:
    return _Item(
        found.id,
        found.user_id,
        found.camera_id,
        found.camera_name,
        found.plate,
        found.confidence,
        format_timestamp(found.captured_ms),
        found.photo_key,
        found.crop_key,
        found.box,
    )
