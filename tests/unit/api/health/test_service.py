"""Warnings about disks that are nearly full."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from api.health.service import Health, disk_warnings


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Return a disk of 1 TiB. Root reserves a tenth, and 79 % of the remaining space is used."""
    total, reserved = 1000, 100
    found = SimpleNamespace(f_blocks=total, f_bfree=reserved + 189, f_bavail=189, f_frsize=1 << 30)
    monkeypatch.setattr("api.health.service.os.statvfs", lambda _folder: found)
    return found


async def _nothing() -> None:
    return None


async def test_a_disk_that_is_80_percent_full_is_logged_once(
    tmp_path: Path, disk: SimpleNamespace
) -> None:
    (tmp_path / "kafka").mkdir()
    folders = (tmp_path / "kafka", tmp_path, tmp_path / "missing")

    assert await disk_warnings(folders) == ()
    disk.f_bfree, disk.f_bavail = 250, 150
    assert await disk_warnings(folders) == ("the disk of kafka is 83% full (150.0 GiB free)",)


async def test_a_warning_takes_nothing_out_of_rotation() -> None:
    async def warn() -> tuple[str, ...]:
        return ("nearly full",)

    found = await Health({"s3": _nothing}, warn).readiness()

    assert found.is_ready
    assert found.warnings == ("nearly full",)
