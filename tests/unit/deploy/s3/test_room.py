"""Room for pictures: the bound of their bytes, and what is left of the disk."""

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from deploy.s3.room import Bounds, Room
from tests.waiting import wait_until

BLOCK = 4096


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A disk with 100 blocks left."""
    found = SimpleNamespace(f_bavail=100, f_frsize=BLOCK)
    monkeypatch.setattr("deploy.s3.room.os.statvfs", lambda _folder: found)
    return found


def _store(folder: Path, name: str, blocks: int) -> Path:
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(os.urandom(blocks * BLOCK))
    return file


def test_pictures_leave_room_on_the_disk(tmp_path: Path, disk: SimpleNamespace) -> None:
    room = Room(tmp_path, Bounds(max_bytes=0, keep_free_bytes=90 * BLOCK))

    assert room.lack(10 * BLOCK) is None
    assert room.lack(10 * BLOCK + 1) == "the disk is nearly full"
    disk.f_bavail = 89
    assert room.lack(0) == "the disk is nearly full"
    assert room.full_ratio == 1
    disk.f_bavail = 91
    assert room.lack(BLOCK) is None
    assert room.full_ratio == 0


async def test_pictures_have_a_bound(tmp_path: Path, disk: SimpleNamespace) -> None:
    room = Room(tmp_path, Bounds(max_bytes=10 * BLOCK, keep_free_bytes=0))
    first, _ = _store(tmp_path, "a/1.jpg", 3), _store(tmp_path, "b/2.jpg", 4)
    await room.measure()

    assert room.full_ratio == pytest.approx(0.7)
    assert room.lack(3 * BLOCK) is None
    assert room.lack(3 * BLOCK + 1) == "pictures have reached their bound"
    room.note_added(2 * BLOCK)
    assert room.lack(2 * BLOCK) is not None
    first.unlink()
    await room.measure()
    assert room.full_ratio == pytest.approx(0.4)
    assert room.lack(6 * BLOCK) is None


async def test_there_is_room_again_soon_after_a_removal(
    tmp_path: Path, disk: SimpleNamespace
) -> None:
    room = Room(tmp_path, Bounds(max_bytes=BLOCK, keep_free_bytes=0))
    file = _store(tmp_path, "a.jpg", 1)
    measuring = asyncio.create_task(room.measure_for_ever())
    await asyncio.to_thread(wait_until, "a measurement", lambda: room.full_ratio == 1)
    file.unlink()
    room.note_removed()
    await asyncio.to_thread(wait_until, "room", lambda: room.lack(BLOCK) is None, 30)
    measuring.cancel()


async def test_without_a_bound_nothing_is_measured(tmp_path: Path) -> None:
    await Room(tmp_path / "missing", Bounds(max_bytes=0, keep_free_bytes=0)).measure_for_ever()
