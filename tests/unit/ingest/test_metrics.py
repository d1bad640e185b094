"""Metrics by camera: separate metrics up to a limit, and one total for all further cameras."""

from collections.abc import Mapping
from uuid import UUID

import pytest
from prometheus_client import CollectorRegistry

from common.records.cameras import CameraState
from ingest.metrics import CameraGauges, ReportedCamera

ONE, TWO, THREE, FOUR = (UUID(int=number) for number in range(1, 5))
CAMERAS = (
    ReportedCamera(FOUR, CameraState.OFFLINE, 900.0),
    ReportedCamera(ONE, CameraState.ONLINE, 0.2),
    ReportedCamera(TWO, CameraState.DISABLED, None),
    ReportedCamera(THREE, CameraState.OFFLINE, 40.0),
)
STATE = "platestream_ingest_camera_state"
AGE = "platestream_ingest_camera_frame_age_seconds"


def _samples(limit: int) -> Mapping[tuple[str, ...], float]:
    registry = CollectorRegistry()
    registry.register(CameraGauges(limit, lambda: CAMERAS))
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in registry.collect()
        for sample in family.samples
    }


def test_the_oldest_have_their_own_and_the_others_share_one() -> None:
    assert _samples(2) == {
        (STATE, str(ONE), "online"): 1,
        (STATE, str(TWO), "disabled"): 1,
        (STATE, "other", "offline"): 2,
        (AGE, str(ONE)): 0.2,
        (AGE, "other"): 900,
    }


@pytest.mark.parametrize(("limit", "shared"), [(0, True), (4, False), (100, False)])
def test_none_or_all_may_have_their_own(limit: int, shared: bool) -> None:
    assert any("other" in labels for labels in _samples(limit)) is shared
