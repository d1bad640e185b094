"""Pictures stop before the disk is full, and begin again."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from common.s3 import S3Bucket, S3FullError
from tests.services.s3 import s3_process, settings_of
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

MIB = 1 << 20
PICTURE = os.urandom(MIB)


@dataclass(frozen=True)
class SmallDisk:
    """A folder with room for eight pictures, or a few less, and what they leave there."""

    folder: Path
    max_bytes: int
    keep_free_bytes: int


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk of its own where this user may mount one, else a bound."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder))
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        yield SmallDisk(folder, max_bytes=8 * MIB, keep_free_bytes=0)
        return
    try:
        yield SmallDisk(folder, max_bytes=0, keep_free_bytes=16 * MIB)
    finally:
        subprocess.run(("umount", "--lazy", str(folder)), check=True)


def _fill(bucket: S3Bucket) -> int:
    """Return how many pictures are taken."""
    for number in range(100):
        try:
            bucket.put(f"{number}.jpg", PICTURE, "image/jpeg")
        except S3FullError:
            return number
    raise AssertionError("pictures are taken without end")


def _is_taken(bucket: S3Bucket, key: str) -> bool:
    try:
        bucket.put(key, PICTURE, "image/jpeg")
    except S3FullError:
        return False
    return True


def test_pictures_stop_before_the_disk_is_full_and_begin_again(small_disk: SmallDisk) -> None:
    process = s3_process(
        small_disk.folder,
        max_bytes=small_disk.max_bytes,
        keep_free_bytes=small_disk.keep_free_bytes,
    )
    with process:
        bucket = S3Bucket(settings_of(process), read_seconds=30, connections=1)
        taken = _fill(bucket)
        assert 5 <= taken <= 8
        assert bucket.full_ratio() is not None
        # Beside it there is room, and what was taken is there.
        (small_disk.folder / "neighbour").write_bytes(bytes(15 * MIB))
        (small_disk.folder / "neighbour").unlink()
        stored = [bucket.get(f"{number}.jpg") for number in range(taken)]
        assert [found is not None and found.data == PICTURE for found in stored] == [True] * taken

        assert bucket.remove_many([f"{number}.jpg" for number in range(taken)]) == []
        wait_until("room", lambda: _is_taken(bucket, "again.jpg"), seconds=60)
        bucket.close()


def test_requests_pass_through_as_they_are(tmp_path: Path) -> None:
    with s3_process(tmp_path) as process:
        bucket = S3Bucket(settings_of(process), read_seconds=30, connections=2)
        key = "a folder/é+%25 ~.jpg"
        bucket.put(key, PICTURE, "image/jpeg", {"width": "3"})
        found = bucket.get(key)

        assert found is not None
        assert (found.data, found.metadata) == (PICTURE, {"width": "3"})
        assert bucket.get("missing.jpg") is None
        assert bucket.folders("") == ["a folder/"]
        assert list(bucket.keys("a folder/")) == [key]
        assert bucket.full_ratio() == 0
        bucket.remove(key)
        assert bucket.get(key) is None
        bucket.close()
