"""Drawn training images, and the Python interpreter of the training environment."""

import os
from pathlib import Path

import pytest

from tests.training.drawn_photos import write_photos, write_screens


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    write_photos(folder)
    return folder


@pytest.fixture(scope="session")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of images without a plate."""
    folder = tmp_path_factory.mktemp("others")
    write_screens(folder)
    return folder


@pytest.fixture(scope="session")
def trainer() -> str:
    """The Python interpreter of the training environment, which ``make test-training`` creates."""
    return os.environ["PLATESTREAM_TEST_TRAINING"]
