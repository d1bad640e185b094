"""Fixtures: the whole stack, an API client, and a road clip with known passes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from platestream_client import Client

from tests.road import FOUR_BY_DAY, TWO_AT_DUSK, RoadClip, cut_clip
from tests.services.stack import RunningStack, whole_stack


@pytest.fixture(scope="session")
def road_clip(services_directory: Path) -> RoadClip:
    """A clip of six passes by day and at dusk, 1080p at 25 frames per second."""
    return cut_clip(services_directory / "road.mp4", FOUR_BY_DAY, TWO_AT_DUSK)


@pytest.fixture(scope="package")
def running_stack() -> Iterator[RunningStack]:
    """A stack for the tests of this folder. An idle stack uses a third of a CPU core."""
    with whole_stack() as stack:
        yield stack


@pytest.fixture
def client(running_stack: RunningStack) -> Iterator[Client]:
    """An API client with the account's key, which has all scopes."""
    with running_stack.access.client() as client:
        yield client
