"""Rules of cameras: their state, their stream address, changes to them."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from cryptography.fernet import Fernet

from api.cameras.conditions import condition_of
from api.cameras.edits import edited_values, new_values
from api.cameras.models import CameraRow
from api.cameras.schemas import CameraCreate, CameraUpdate
from api.cameras.status_board import StatusBoard
from api.cameras.streams import StreamVault
from api.errors import ApiError
from api.validation import ValidationRules, validating_by
from contracts.cameras import CameraState, CameraStatus
from contracts.secrets import SecretBox
from contracts.stream_urls import StreamUrlRules

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
def test_what_is_shown_of_a_state(
    status: CameraStatus | None, enabled: bool, state: CameraState
) -> None:
    row = replace(ROW, values=replace(ROW.values, enabled=enabled))

    assert condition_of(row, status, now_ms=NOW_MS, stale_ms=STALE_MS).state is state


def test_the_workers_own_error_is_shown() -> None:
    shown = condition_of(ROW, _status(CameraState.OFFLINE), now_ms=NOW_MS, stale_ms=STALE_MS)

    assert shown.last_error == "refused"


def test_a_stream_is_kept_sealed_and_shown_masked() -> None:
    values = ROW.values

    assert "hunter2" not in repr(values)
    assert values.stream_url_shown == "rtsp://viewer:***@10.0.0.8/1"
    assert BOX.decrypt(values.stream_url_encrypted) == BODY.rtsp_url


@pytest.mark.parametrize(
    "address",
    [
        "rtsp://other:secret@10.0.0.8/1",
        "rtsp://10.0.0.8:554/1",
        "rtsp://10.0.0.8/1/",
    ],
)
def test_the_same_stream_has_the_same_identifier(address: str) -> None:
    body = CameraCreate.model_validate({"name": "Other", "rtspUrl": address})

    assert new_values(body, VAULT).identifier == ROW.values.identifier


def test_an_update_with_nothing_new_changes_nothing() -> None:
    values = ROW.values
    for sent in ({}, {"name": "Gate"}, {"rtspUrl": values.stream_url_shown}, {"identifier": None}):
        assert edited_values(values, CameraUpdate.model_validate(sent), VAULT) == values


def test_null_takes_back_what_may_be_absent() -> None:
    changed = edited_values(ROW.values, CameraUpdate.model_validate({"sampleFps": None}), VAULT)

    assert changed == replace(ROW.values, sample_fps=None)


def test_a_bad_address_is_refused_without_being_repeated() -> None:
    with validating_by(ValidationRules(streams=StreamUrlRules(allow_loopback=True))):
        sent = CameraUpdate.model_validate({"rtspUrl": "rtsp://viewer:hunter3@127.0.0.1/"})
    with pytest.raises(ApiError) as refused:
        edited_values(ROW.values, sent, VAULT)

    assert [fault.path for fault in refused.value.fields] == ["rtspUrl"]
    assert "hunter3" not in f"{refused.value} {refused.value.fields}"


async def test_a_wait_ends_with_the_news_or_with_its_time() -> None:
    board = StatusBoard()
    waiting = asyncio.create_task(board.wait_until_taken(CAMERA, 3, 10))
    await asyncio.sleep(0)
    board.post([(CAMERA, _status(CameraState.ONLINE, revision=2))])
    await asyncio.sleep(0)
    assert not waiting.done()
    board.post([(UUID(int=9), _status(CameraState.ONLINE)), (CAMERA, _status(CameraState.ONLINE))])
    assert await waiting

    assert not await board.wait_until_taken(CAMERA, 4, 0.01)
    assert await board.wait_until_taken(CAMERA, 1, 0)
    board.post([(CAMERA, None)])
    assert board.latest(CAMERA) is None


def test_an_identifier_that_is_sent_back_still_follows_the_stream() -> None:
    moved = "rtsp://viewer:***@10.0.0.9/1"
    sent = {"name": "Gate", "identifier": ROW.values.identifier, "rtspUrl": moved}
    values = edited_values(ROW.values, CameraUpdate.model_validate(sent), VAULT)

    assert values.identifier_derived
    assert values.identifier != ROW.values.identifier
    assert edited_values(values, CameraUpdate.model_validate({"identifier": "gate"}), VAULT) == (
        replace(values, identifier="gate", identifier_derived=False)
    )


@pytest.mark.parametrize(
    "masked", ["rtsp://viewer:***@10.0.0.8/1", "http://10.0.0.8/mjpeg?usr=a&pwd=***"]
)
def test_a_mask_without_a_password_behind_it_is_refused(masked: str) -> None:
    bare = CameraCreate.model_validate({"name": "Gate", "rtspUrl": "rtsp://10.0.0.8/1"})
    with pytest.raises(ApiError) as refused_new:
        new_values(CameraCreate.model_validate({"name": "Gate", "rtspUrl": masked}), VAULT)
    sent = CameraUpdate.model_validate({"rtspUrl": masked})
    with pytest.raises(ApiError) as refused_edit:
        edited_values(new_values(bare, VAULT), sent, VAULT)

    for refused in (refused_new, refused_edit):
        assert [fault.path for fault in refused.value.fields] == ["rtspUrl"]
