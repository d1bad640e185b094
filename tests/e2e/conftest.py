"""The whole stack, a client of its API, and a road scene with its truth."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.api_client import ApiClient
from tests.services.stack import RunningStack, whole_stack
from tools.synthetic.road import LightPlan, RoadSceneOptions, SceneTruth, generate_road_scene


@dataclass(frozen=True)
class RoadClip:
    """A generated clip and the passes that are really in it."""

    path: Path
    truth: SceneTruth

    @property
    def plates(self) -> list[str]:
        """The true plates, in the order in which they pass."""
        return [one.plate for one in self.truth.passes]


@pytest.fixture(scope="session")
def road_clip(services_directory: Path) -> RoadClip:
    """Six passes by day and at dusk, 1080p at 25 frames a second."""
    path = services_directory / "road.mp4"
    options = RoadSceneOptions(passes=6, seed=11, light=LightPlan.MIXED)
    return RoadClip(path, generate_road_scene(path, None, options))


@pytest.fixture(scope="package")
def running_stack() -> Iterator[RunningStack]:
    """A stack for the tests of this folder; one that idles takes a third of a core."""
    with whole_stack() as stack:
        yield stack


@pytest.fixture
def client(running_stack: RunningStack) -> Iterator[ApiClient]:
    """The API with the owner's key of all scopes."""
    access = running_stack.access
    api = ApiClient(access.base_url, access.api_key)
    yield api
    api.close()
