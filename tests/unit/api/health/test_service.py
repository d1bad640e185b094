"""Warnings of what is nearly full."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from api.errors import Dependency, DependencyUnavailableError
from api.health.service import Health, RoomWatch


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A disk of a TiB, of which root keeps a tenth; 79 % of the rest is used."""
    total, reserved = 1000, 100
    found = SimpleNamespace(f_blocks=total, f_bfree=reserved + 189, f_bavail=189, f_frsize=1 << 30)
    monkeypatch.setattr("api.health.disks.os.statvfs", lambda _folder: found)
    return found


async def _nothing() -> None:
    return None


async def test_a_disk_that_is_80_percent_full_is_told_once(
    tmp_path: Path, disk: SimpleNamespace
) -> None:
    (tmp_path / "kafka").mkdir()
    folders = (tmp_path / "kafka", tmp_path, tmp_path / "missing")
    watch = RoomWatch(folders, _nothing)

    assert await watch.warnings() == ()
    disk.f_bfree, disk.f_bavail = 250, 150
    assert await watch.warnings() == ("the disk of kafka is 83% full, 150.0 GiB are left",)


@pytest.mark.parametrize(
    ("ratio", "sentences"),
    [
        (None, ()),
        (0.79, ()),
        (0.8, ("the store of images is 80% full",)),
        (1.0, ("the store of images is full and takes no more",)),
    ],
)
async def test_the_store_of_images_says_how_full_it_is(
    ratio: float | None, sentences: tuple[str, ...]
) -> None:
    async def ask() -> float | None:
        return ratio

    assert await RoomWatch((), ask).warnings() == sentences


async def test_a_store_that_does_not_answer_is_not_full() -> None:
    async def ask() -> float | None:
        raise DependencyUnavailableError(Dependency.PICTURES)

    assert await RoomWatch((), ask).warnings() == ()


async def test_a_warning_takes_nothing_out_of_rotation() -> None:
    async def warn() -> tuple[str, ...]:
        return ("nearly full",)

    found = await Health({"s3": _nothing}, warn).readiness()

    assert found.is_ready
    assert found.warnings == ("nearly full",)
