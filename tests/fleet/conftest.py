"""Fixtures: a fleet's folder, whose logs are saved after the test, and progress output."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fault.conftest import say as say
from tests.fault.conftest import stack_folder


@pytest.fixture
def fleet_folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of a fleet, with a short path."""
    with stack_folder(tmp_path) as folder:
        yield folder
