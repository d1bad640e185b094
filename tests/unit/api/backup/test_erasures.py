"""What had been erased is known also to a restore that comes after one that was cut off."""

from pathlib import Path
from uuid import UUID

import pytest

from api.backup.erasures import Noted, forget_remembered, remembered
from api.backup.manifest import BackupError

FIRST: Noted = (UUID(int=1), "a hash", 1_795_000_000_000)
SECOND: Noted = (UUID(int=2), "", 4_102_444_800_000)


def test_it_is_kept_until_it_was_erased_again(tmp_path: Path) -> None:
    assert remembered(tmp_path, [FIRST]) == [FIRST]
    # The first restore took the notes with it.
    assert remembered(tmp_path, []) == [FIRST]
    assert remembered(tmp_path, [FIRST, SECOND]) == [FIRST, SECOND]

    forget_remembered(tmp_path)

    assert remembered(tmp_path, []) == []
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_kept_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="cannot be noted"):
        remembered(tmp_path / "nowhere", [FIRST])
