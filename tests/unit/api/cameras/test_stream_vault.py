"""Stream URLs and other fields of cameras as clients send them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from cryptography.fernet import Fernet
from pydantic import ValidationError

from api.cameras.repository import CameraValues
from api.cameras.schemas import CameraCreate, CameraUpdate
from api.cameras.stream_vault import StreamVault, edited_values, new_values
from api.errors import ApiError
from api.validation.fields import ValidationRules, validating_by
from common.secrets import SecretBox
from common.urls.streams import StreamUrlRules
from deploy.local.camera import DEMO_CLIP

BOX = SecretBox(Fernet.generate_key().decode())
VAULT = StreamVault(StreamUrlRules(), BOX)
STREAM = "rtsp://viewer:hunter2@10.0.0.8/1"


def _created(**fields: object) -> CameraValues:
    return new_values(CameraCreate.model_validate({"name": "Gate"} | fields), VAULT)


def _edited(values: CameraValues, **fields: object) -> CameraValues:
    return edited_values(values, CameraUpdate.model_validate(fields), VAULT)


def _stored(values: CameraValues) -> str:
    return BOX.decrypt(values.stream_url_encrypted)


def _faults(error: ApiError) -> list[str]:
    return [fault.path for fault in error.fields]


VALUES = _created(rtspUrl=STREAM, sampleFps=5)


def test_a_stream_is_stored_encrypted_and_shown_masked() -> None:
    assert "hunter2" not in repr(VALUES)
    assert VALUES.stream_url_shown == "rtsp://viewer:***@10.0.0.8/1"
    assert _stored(VALUES) == STREAM


@pytest.mark.parametrize(
    "address", ["rtsp://other:secret@10.0.0.8/1", "rtsp://10.0.0.8:554/1", "rtsp://10.0.0.8/1/"]
)
def test_the_same_stream_has_the_same_identifier(address: str) -> None:
    assert _created(rtspUrl=address).identifier == VALUES.identifier


def test_an_update_with_nothing_new_changes_nothing() -> None:
    shown: dict[str, object] = {"rtspUrl": VALUES.stream_url_shown}
    same = {"username": "viewer", "password": "hunter2"}
    for sent in ({}, {"name": "Gate"}, shown, {"identifier": None}, same, shown | same):
        assert _edited(VALUES, **sent) == VALUES


def test_null_clears_what_may_be_absent() -> None:
    assert _edited(VALUES, sampleFps=None) == replace(VALUES, sample_fps=None)


def test_a_bad_address_is_refused_without_being_repeated() -> None:
    with validating_by(ValidationRules(streams=StreamUrlRules(allow_loopback=True))):
        sent = CameraUpdate.model_validate({"rtspUrl": "rtsp://viewer:hunter3@127.0.0.1/"})
    with pytest.raises(ApiError) as refused:
        edited_values(VALUES, sent, VAULT)

    assert _faults(refused.value) == ["rtspUrl"]
    assert "hunter3" not in f"{refused.value} {refused.value.fields}"


def test_an_identifier_that_is_sent_back_still_follows_the_stream() -> None:
    moved = "rtsp://viewer:hunter2@10.0.0.9/1"
    values = _edited(VALUES, name="Gate", identifier=VALUES.identifier, rtspUrl=moved)

    assert values.identifier_derived
    assert values.identifier != VALUES.identifier
    assert _edited(values, identifier="gate") == (
        replace(values, identifier="gate", identifier_derived=False)
    )


@pytest.mark.parametrize(
    "masked", ["rtsp://viewer:***@10.0.0.8/1", "http://10.0.0.8/mjpeg?usr=a&pwd=***"]
)
def test_a_mask_without_a_stored_password_is_rejected(masked: str) -> None:
    with pytest.raises(ApiError) as refused_new:
        _created(rtspUrl=masked)
    with pytest.raises(ApiError) as refused_edit:
        _edited(_created(rtspUrl="rtsp://10.0.0.8/1"), rtspUrl=masked)

    for refused in (refused_new, refused_edit):
        assert _faults(refused.value) == ["rtspUrl"]


@pytest.mark.parametrize(
    ("password", "encoded"),
    [
        ("p#ss", "p%23ss"),
        ("p@:ss/", "p%40%3Ass%2F"),
        ("%41?&=", "%2541%3F%26%3D"),
        (" a b ", "%20a%20b%20"),
        ("[***]\\", "%5B%2A%2A%2A%5D%5C"),
        ("sénha", "s%C3%A9nha"),
        ("a-b._~9", "a-b._~9"),
    ],
)
def test_a_separate_password_is_percent_encoded(password: str, encoded: str) -> None:
    login = {"username": "väter@x", "password": password}
    values = _created(rtspUrl=" rtsp://10.0.0.8/1?channel=1\n", **login)

    assert _stored(values) == f"rtsp://v%C3%A4ter%40x:{encoded}@10.0.0.8/1?channel=1"
    assert values.stream_url_shown == "rtsp://v%C3%A4ter%40x:***@10.0.0.8/1?channel=1"
    assert unquote(urlsplit(_stored(values)).password or "") == password
    changed = _edited(VALUES, **login)
    assert _stored(changed) == f"rtsp://v%C3%A4ter%40x:{encoded}@10.0.0.8/1"
    assert changed.identifier == VALUES.identifier
    for url in (STREAM.replace("hunter2", "***"), "rtsp://viewer@10.0.0.8/1"):
        assert _stored(_created(rtspUrl=url, password=password)) == (
            f"rtsp://viewer:{encoded}@10.0.0.8/1"
        )


def test_separate_credentials_replace_stored_ones() -> None:
    host, shown = {"rtspUrl": "rtsp://10.0.0.9/2"}, {"rtspUrl": VALUES.stream_url_shown}
    new = {"username": "root", "password": "new"}

    assert _stored(_edited(VALUES, password="new")) == STREAM.replace("hunter2", "new")
    assert _stored(_edited(VALUES, **new)) == STREAM.replace("viewer:hunter2", "root:new")
    assert _edited(VALUES, **shown, **new).stream_url_shown == "rtsp://root:***@10.0.0.8/1"
    assert _stored(_edited(VALUES, **host, **new)) == "rtsp://root:new@10.0.0.9/2"
    assert _stored(_edited(VALUES, **host)) == "rtsp://10.0.0.9/2"
    assert _stored(_edited(_created(**host), username="root")) == "rtsp://root:@10.0.0.9/2"


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"rtspUrl": "rtsp://viewer:old@10.0.0.8/1", "password": "s3cret"}, "rtspUrl"),
        ({"rtspUrl": "rtsp://viewer:old@10.0.0.8/1", "username": "root"}, "rtspUrl"),
        ({"rtspUrl": "rtsp://viewer@10.0.0.8/1", "username": "root"}, "rtspUrl"),
        ({"rtspUrl": "rtsp://10.0.0.8/1", "password": "s3cret"}, "username"),
        ({"rtspUrl": "rtsp://10.0.0.8/1", "username": "a:b", "password": "s3cret"}, "username"),
        ({"rtspUrl": "rtsp://viewer:***@10.0.0.8/1", "username": "root"}, "password"),
        ({"rtspUrl": "rtsp://10.0.0.8/1", "username": "a" * 90, "password": "#" * 13}, "password"),
    ],
)
def test_credentials_that_contradict_are_rejected(fields: dict[str, str], fault: str) -> None:
    calls: tuple[Callable[[], CameraValues], ...] = (
        lambda: _created(**fields),
        lambda: _edited(VALUES, **fields),
    )
    for call in calls:
        with pytest.raises(ApiError) as refused:
            call()
        assert _faults(refused.value) == [fault]
        assert "s3cret" not in f"{refused.value} {refused.value.fields}"


@pytest.mark.parametrize("fields", [{"password": "a\nb"}, {"password": None}, {"username": 1}])
def test_credentials_are_short_texts(fields: dict[str, object]) -> None:
    for sent in (fields, dict.fromkeys(fields, "a" * 101)):
        with pytest.raises(ValidationError):
            CameraUpdate.model_validate(sent)


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
                assert _stored(values) == clip.as_uri()

    assert len(refused) == 2
    assert refused[0] == refused[1]
