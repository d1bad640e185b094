"""Tests the path from a camera's stream to one recognition per pass."""

from pathlib import Path

import cv2
import httpx
import numpy as np
import pytest
from platestream_client import ApiError, Client
from platestream_client.calls import Call

from tests.road import RoadClip, score_passes
from tests.services.rtsp import RtspCamera
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

# A track ends after two seconds without a reading. The rest allows for a busy machine.
_RESULT_SECONDS = 30


def _created(client: Client, clip: RoadClip, identifier: str) -> str:
    url = clip.path.as_uri()
    return client.cameras.create({"name": "Gate", "rtspUrl": url, "identifier": identifier})["id"]


def _plates(client: Client, camera: str) -> list[str]:
    return [r["plate"] for r in client.recognitions.search(camera_id=camera)]


def test_every_pass_through_rtsp_is_one_recognition(client: Client, road_clip: RoadClip) -> None:
    with RtspCamera(road_clip.path, once=True, user="operator", password="s3cret") as source:
        camera = client.cameras.create(
            {"name": "Gate", "rtspUrl": source.url, "location": "North gate"}
        )["id"]
        source.wait_until_ended(seconds=road_clip.duration_s + 60)
        wait_until(
            "all passes",
            lambda: len(_plates(client, camera)) >= len(road_clip.plates),
            _RESULT_SECONDS,
        )
        # Ticks advance the camera's clock, so every open track ends within seconds.
        wait_until("it is over", lambda: client.cameras.get(camera)["status"] != "online")

    score = score_passes(road_clip.plates, _plates(client, camera))
    assert score.right_share == 1.0, str(score)
    assert score.invented == (), str(score)
    assert "s3cret" not in str(client.cameras.get(camera))
    client.cameras.delete(camera)


@pytest.mark.long
def test_a_recognition_shows_the_very_frame_that_it_was_read_from(
    client: Client, road_clip: RoadClip
) -> None:
    camera = _created(client, road_clip, "file-once-seen")
    wait_until("a pass", lambda: _plates(client, camera), 120)
    listed = list(client.recognitions.search(camera_id=camera))[-1]

    shown = client.recognitions.get(listed["id"])

    photo, crop = _image(shown["photoUrl"]), _image(shown["cropUrl"])
    box = shown["plateCoordinates"]
    assert photo.shape == (1080, 1920, 3)
    assert 0 <= box["x"] <= box["x"] + box["width"] <= 1920
    assert crop.shape[1] >= box["width"] * 0.9
    assert listed["plate"] in road_clip.plates
    assert not listed["photoUrl"].startswith("http")
    alternatives = shown.pop("characterAlternatives", [])
    assert all(other["position"] < len(shown["plate"]) for other in alternatives)
    assert {k: v for k, v in shown.items() if not k.endswith("Url")} == {
        k: v for k, v in listed.items() if not k.endswith("Url")
    }
    client.cameras.delete(camera)


def test_a_still_image_costs_one_credit(client: Client, road_clip: RoadClip) -> None:
    one = road_clip.passes[-1]
    image = _frame_at(road_clip.path, one.readable_to_s - 0.2)
    before = client.account.credits()["credits"]

    answer = client.recognitions.recognize(image)

    assert one.plate in [plate["plate"] for plate in answer["plates"]]
    assert (answer["imageWidth"], answer["imageHeight"]) == (1920, 1080)
    assert answer["creditsRemaining"] == before - 1


def test_a_change_of_a_camera_takes_effect_at_once(client: Client, road_clip: RoadClip) -> None:
    camera = _created(client, road_clip, "switched")
    wait_until("it is on", lambda: client.cameras.get(camera)["status"] == "online", 30)

    client.cameras.update(camera, {"enabled": False})

    wait_until("it is off", lambda: client.cameras.get(camera)["status"] == "disabled", 5)
    client.cameras.update(camera, {"enabled": True})
    wait_until("it is on", lambda: client.cameras.get(camera)["status"] == "online", 30)
    snapshot = Call("GET", f"/api/cameras/{camera}/snapshot", lambda answer: answer.headers)
    size = client.perform(snapshot)
    assert (size["X-Frame-Width"], size["X-Frame-Height"]) == ("1920", "1080")
    client.cameras.delete(camera)
    with pytest.raises(ApiError, match="^404"):
        client.cameras.snapshot(camera)


def _image(url: str) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    answer = httpx.get(url, timeout=10)
    assert answer.status_code == 200, answer.text
    decoded = cv2.imdecode(np.frombuffer(answer.content, np.uint8), cv2.IMREAD_COLOR)
    assert decoded is not None
    return np.asarray(decoded, dtype=np.uint8)


def _frame_at(clip: Path, time_s: float) -> bytes:
    capture = cv2.VideoCapture(str(clip))
    try:
        capture.set(cv2.CAP_PROP_POS_FRAMES, round(time_s * 25))
        ok, frame = capture.read()
        assert ok
        return bytes(cv2.imencode(".jpg", frame)[1])
    finally:
        capture.release()
