"""IDs are derived from their cause, so a replay gives the same ID, and contain the time."""

from datetime import date
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.records import object_keys
from common.records.ids import derived_uuid, recognition_id, uuid_unix_ms

UNIX_MS = st.integers(min_value=0, max_value=(1 << 48) - 1)
CAMERA = UUID("11111111-2222-4333-8444-555555555555")


@given(UNIX_MS, st.text())
def test_derived_uuid_is_a_version_8_uuid_that_holds_its_time(unix_ms: int, part: str) -> None:
    identifier = derived_uuid(unix_ms, part)

    assert (identifier.version, identifier.variant) == (8, "specified in RFC 4122")
    assert uuid_unix_ms(identifier) == unix_ms
    assert derived_uuid(unix_ms, part) == identifier


@given(UNIX_MS, UNIX_MS)
def test_derived_uuids_sort_by_time(one: int, other: int) -> None:
    if one < other:
        assert str(derived_uuid(one, "b")) < str(derived_uuid(other, "a"))


def test_parts_are_not_glued_together() -> None:
    assert derived_uuid(1, "ab", "c") != derived_uuid(1, "a", "bc")


@pytest.mark.parametrize("unix_ms", [-1, 1 << 48])
def test_a_time_that_does_not_fit_is_refused(unix_ms: int) -> None:
    with pytest.raises(ValueError, match="out of range"):
        derived_uuid(unix_ms)


def test_recognition_id_differs_by_camera_and_track() -> None:
    ids = {
        recognition_id(1, CAMERA, "a"),
        recognition_id(1, CAMERA, "b"),
        recognition_id(2, CAMERA, "a"),
        recognition_id(1, uuid4(), "a"),
    }

    assert len(ids) == 4


def test_object_keys_hold_owner_and_day_of_the_recognition() -> None:
    recognition = recognition_id(1_700_000_000_123, CAMERA, "t")

    assert object_keys.photo_key(CAMERA, recognition) == (
        f"recognitions/{CAMERA}/2023/11/14/{recognition}/photo.jpg"
    )
    assert object_keys.crop_key(CAMERA, recognition).endswith("/crop.jpg")
    assert object_keys.snapshot_key(CAMERA, CAMERA) == f"snapshots/{CAMERA}/{CAMERA}.jpg"


@pytest.mark.parametrize(
    ("folder", "day"),
    [
        (f"recognitions/{CAMERA}/2023/11/14/", date(2023, 11, 14)),
        (f"recognitions/{CAMERA}/2023/13/14/", None),
        (f"recognitions/{CAMERA}/2023/11/", None),
        ("recognitions/", None),
    ],
)
def test_the_day_of_a_folder_of_images(folder: str, day: date | None) -> None:
    assert object_keys.day_of_folder(folder) == day
