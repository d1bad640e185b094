"""The cached status of cameras, and waiting for a worker."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from cryptography.fernet import Fernet

from api.cameras.repository import CameraRow
from api.cameras.schemas import CameraCreate
from api.cameras.status_cache import CameraStatusCache, condition_of
from api.cameras.stream_vault import StreamVault, new_values
from common.records.cameras import CameraState, CameraStatus
from common.secrets import SecretBox
from common.urls.streams import StreamUrlRules

NOW_MS = 1_790_000_000_000
STALE_MS = 30_000.0
CAMERA = UUID(int=1)
BOX = SecretBox(Fernet.generate_key().decode())
VAULT = StreamVault(StreamUrlRules(), BOX)
BODY = CameraCreate.model_validate(
    {"name": "Gate", "rtspUrl": "rtsp://viewer:hunter2@10.0.0.8/1", "sampleFps": 5}
)
ROW = CameraRow(
    id=CAMERA,
    owner_id=UUID(int=2),
    revision=3,
    values=new_values(BODY, VAULT),
    created_at=datetime(2026, 11, 21, tzinfo=UTC),
)


def _status(state: CameraState, *, revision: int = 3, age_ms: int = 0) -> CameraStatus:
    return CameraStatus(
        camera_id=CAMERA,
        owner_id=ROW.owner_id,
        state=state,
        revision=revision,
        worker="w",
        at_ms=NOW_MS - age_ms,
        last_error="refused" if state is CameraState.OFFLINE else None,
    )


@pytest.mark.parametrize(
    ("status", "enabled", "state"),
    [
        (None, True, CameraState.CONNECTING),
        (None, False, CameraState.DISABLED),
        (_status(CameraState.ONLINE), True, CameraState.ONLINE),
        (_status(CameraState.ONLINE), False, CameraState.DISABLED),
        (_status(CameraState.OFFLINE), True, CameraState.OFFLINE),
        (_status(CameraState.ONLINE, revision=2), True, CameraState.CONNECTING),
        (_status(CameraState.ONLINE, age_ms=30_001), True, CameraState.OFFLINE),
        (_status(CameraState.ONLINE, age_ms=30_000), True, CameraState.ONLINE),
        (_status(CameraState.DISABLED), True, CameraState.CONNECTING),
        (_status(CameraState.ONLINE, age_ms=-5_000), True, CameraState.ONLINE),
    ],
)
def test_each_state_is_shown_as_it_should_be(
    status: CameraStatus | None, enabled: bool, state: CameraState
) -> None:
    row = replace(ROW, values=replace(ROW.values, enabled=enabled))

    assert condition_of(row, status, now_ms=NOW_MS, stale_ms=STALE_MS).state is state


def test_the_workers_own_error_is_shown() -> None:
    shown = condition_of(ROW, _status(CameraState.OFFLINE), now_ms=NOW_MS, stale_ms=STALE_MS)

    assert shown.last_error == "refused"


async def test_a_wait_ends_with_the_update_or_with_its_time() -> None:
    statuses = CameraStatusCache()
    waiting = asyncio.create_task(statuses.wait_until_running(CAMERA, 3, 10))
    await asyncio.sleep(0)
    statuses.post([(CAMERA, _status(CameraState.ONLINE, revision=2))])
    await asyncio.sleep(0)
    assert not waiting.done()
    statuses.post(
        [(UUID(int=9), _status(CameraState.ONLINE)), (CAMERA, _status(CameraState.ONLINE))]
    )
    assert await waiting

    assert not await statuses.wait_until_running(CAMERA, 4, 0.01)
    assert await statuses.wait_until_running(CAMERA, 1, 0)
    statuses.post([(CAMERA, None)])
    assert statuses.latest(CAMERA) is None
