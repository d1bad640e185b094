"""The folder of a fleet, whose logs are kept with the test run's, and what tests say meanwhile."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.fault.conftest import say as say


@pytest.fixture
def fleet_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a short path."""
    with TemporaryDirectory(prefix="platestream-fleet-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        yield folder
        if (folder / "logs").exists():
            shutil.copytree(folder / "logs", tmp_path / "logs")
