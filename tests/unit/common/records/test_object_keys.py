"""Decoding of the keys of S3 objects."""

from uuid import UUID, uuid4

import pytest

from common.records.object_keys import camera_of_snapshot, photo_key, snapshot_key


def test_a_snapshots_key_names_its_camera() -> None:
    camera_id = UUID(int=5)
    assert camera_of_snapshot(snapshot_key(UUID(int=6), camera_id)) == camera_id


@pytest.mark.parametrize(
    "key", ["", "snapshots/", "snapshots/x/README", f"snapshots/x/{UUID(int=5)}"]
)
def test_another_key_names_no_camera(key: str) -> None:
    assert camera_of_snapshot(key) is None


def test_an_id_without_a_time_gives_no_key() -> None:
    with pytest.raises(ValueError, match="not the ID of a recognition"):
        photo_key(UUID(int=6), uuid4())
