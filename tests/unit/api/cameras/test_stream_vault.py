"""Stream URLs and other fields of cameras as clients send them."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from cryptography.fernet import Fernet

from api.cameras.repository import CameraRow
from api.cameras.schemas import CameraCreate, CameraUpdate
from api.cameras.stream_vault import StreamVault, edited_values, new_values
from api.errors import ApiError
from api.validation.fields import ValidationRules, validating_by
from common.secrets import SecretBox
from common.urls.streams import StreamUrlRules
from deploy.local.camera import DEMO_CLIP

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


def test_a_stream_is_stored_encrypted_and_shown_masked() -> None:
    values = ROW.values

    assert "hunter2" not in repr(values)
    assert values.stream_url_shown == "rtsp://viewer:***@10.0.0.8/1"
    assert BOX.decrypt(values.stream_url_encrypted) == BODY.rtsp_url


@pytest.mark.parametrize(
    "address", ["rtsp://other:secret@10.0.0.8/1", "rtsp://10.0.0.8:554/1", "rtsp://10.0.0.8/1/"]
)
def test_the_same_stream_has_the_same_identifier(address: str) -> None:
    body = CameraCreate.model_validate({"name": "Other", "rtspUrl": address})

    assert new_values(body, VAULT).identifier == ROW.values.identifier


def test_an_update_with_nothing_new_changes_nothing() -> None:
    values = ROW.values
    for sent in ({}, {"name": "Gate"}, {"rtspUrl": values.stream_url_shown}, {"identifier": None}):
        assert edited_values(values, CameraUpdate.model_validate(sent), VAULT) == values


def test_null_clears_what_may_be_absent() -> None:
    changed = edited_values(ROW.values, CameraUpdate.model_validate({"sampleFps": None}), VAULT)

    assert changed == replace(ROW.values, sample_fps=None)


def test_a_bad_address_is_refused_without_being_repeated() -> None:
    with validating_by(ValidationRules(streams=StreamUrlRules(allow_loopback=True))):
        sent = CameraUpdate.model_validate({"rtspUrl": "rtsp://viewer:hunter3@127.0.0.1/"})
    with pytest.raises(ApiError) as refused:
        edited_values(ROW.values, sent, VAULT)

    assert [fault.path for fault in refused.value.fields] == ["rtspUrl"]
    assert "hunter3" not in f"{refused.value} {refused.value.fields}"


def test_an_identifier_that_is_sent_back_still_follows_the_stream() -> None:
    moved = "rtsp://viewer:hunter2@10.0.0.9/1"
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
def test_a_mask_without_a_stored_password_is_rejected(masked: str) -> None:
    bare = CameraCreate.model_validate({"name": "Gate", "rtspUrl": "rtsp://10.0.0.8/1"})
    with pytest.raises(ApiError) as refused_new:
        new_values(CameraCreate.model_validate({"name": "Gate", "rtspUrl": masked}), VAULT)
    sent = CameraUpdate.model_validate({"rtspUrl": masked})
    with pytest.raises(ApiError) as refused_edit:
        edited_values(new_values(bare, VAULT), sent, VAULT)

    for refused in (refused_new, refused_edit):
        assert [fault.path for fault in refused.value.fields] == ["rtspUrl"]


def test_only_video_files_of_the_folder_are_taken(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    rules = StreamUrlRules(files_folder=folder)
    clip, outside = folder / "road.mp4", tmp_path / "outside.mp4"
    for path in (clip, outside):
        path.write_bytes(DEMO_CLIP.read_bytes()[:4096])
    refused = []
    with validating_by(ValidationRules(streams=rules)):
        for path in (clip, outside, folder / "absent.mp4"):
            body = CameraCreate.model_validate({"name": "Gate", "rtspUrl": path.as_uri()})
            try:
                values = new_values(body, StreamVault(rules, BOX))
            except ApiError as error:
                refused.append([(fault.path, fault.message) for fault in error.fields])
            else:
                assert BOX.decrypt(values.stream_url_encrypted) == clip.as_uri()

    assert len(refused) == 2
    assert refused[0] == refused[1]


def _updated(**changes: object) -> CameraUpdate:
    return CameraUpdate.model_validate(changes)
