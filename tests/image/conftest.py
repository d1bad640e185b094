"""Fixture: the image, built once for all tests of this folder."""

import os
from collections.abc import Iterator

import pytest

from tests.image.built import BuiltImage, built_image


@pytest.fixture(scope="session")
def image() -> Iterator[BuiltImage]:
    if os.geteuid() != 0:
        pytest.skip("images are built as root")
    with built_image() as built:
        yield built
