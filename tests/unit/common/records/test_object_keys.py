"""Keys of objects, read back."""

from uuid import UUID

import pytest

from common.records.object_keys import camera_of_snapshot, snapshot_key


def test_a_snapshots_key_names_its_camera() -> None:
    camera_id = UUID(int=5)
    assert camera_of_snapshot(snapshot_key(UUID(int=6), camera_id)) == camera_id


@pytest.mark.parametrize(
    "key", ["", "snapshots/", "snapshots/x/README", f"snapshots/x/{UUID(int=5)}"]
)
def test_another_key_names_no_camera(key: str) -> None:
    assert camera_of_snapshot(key) is None
