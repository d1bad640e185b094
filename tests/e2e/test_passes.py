"""A camera's stream in, one recognition a pass out."""

from pathlib import Path

import cv2
import httpx
import numpy as np
import pytest

from tests.e2e.api_client import ApiClient
from tests.road import RoadClip, score_passes
from tests.services.rtsp import RtspCamera

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

# Two seconds unseen end a track; the rest is the time to reach the API on a busy machine.
_RESULT_SECONDS = 30


def _plates(client: ApiClient, camera: str) -> list[str]:
    return [str(r["plate"]) for r in client.recognitions(camera)]


def test_every_pass_through_rtsp_is_one_recognition(client: ApiClient, road_clip: RoadClip) -> None:
    with RtspCamera(road_clip.path, once=True, user="operator", password="s3cret") as source:
        camera = client.create_camera(source.url, location="North gate")
        source.wait_until_ended(seconds=road_clip.duration_s + 60)
        client.wait_until(
            "all passes",
            lambda: len(client.recognitions(camera)) >= len(road_clip.plates),
            seconds=_RESULT_SECONDS,
        )
        # The camera's clock goes on by ticks, so whatever is still open ends within seconds.
        client.wait_until(
            "it is over", lambda: client.camera(camera)["status"] != "online", seconds=60
        )

    score = score_passes(road_clip.plates, _plates(client, camera))
    assert score.right_share == 1.0, str(score)
    assert score.invented == (), str(score)
    assert "s3cret" not in str(client.camera(camera))
    client.call("DELETE", f"/api/cameras/{camera}")


def test_a_recognition_shows_the_very_frame_that_it_was_read_from(
    client: ApiClient, road_clip: RoadClip
) -> None:
    camera = client.create_camera(road_clip.path.as_uri(), identifier="file-once-seen")
    client.wait_until("a pass", lambda: client.recognitions(camera), seconds=120)
    listed = client.recognitions(camera)[-1]

    shown = client.call("GET", f"/api/recognitions/{listed['id']}").json()["recognition"]

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
    client.call("DELETE", f"/api/cameras/{camera}")


def test_a_still_image_costs_one_credit(client: ApiClient, road_clip: RoadClip) -> None:
    one = road_clip.passes[-1]
    image = _frame_at(road_clip.path, one.readable_to_s - 0.2)
    before = client.call("GET", "/api/credits").json()["credits"]

    answer = client.call(
        "POST",
        "/api/recognize",
        content=image,
        headers={"Content-Type": "application/octet-stream"},
    ).json()

    assert one.plate in [plate["plate"] for plate in answer["plates"]]
    assert (answer["imageWidth"], answer["imageHeight"]) == (1920, 1080)
    assert answer["creditsRemaining"] == before - 1


def test_a_change_of_a_camera_takes_effect_at_once(client: ApiClient, road_clip: RoadClip) -> None:
    camera = client.create_camera(road_clip.path.as_uri(), identifier="switched")
    client.wait_until("it is on", lambda: client.camera(camera)["status"] == "online", seconds=30)

    client.call("PUT", f"/api/cameras/{camera}", json={"enabled": False})

    client.wait_until("it is off", lambda: client.camera(camera)["status"] == "disabled", seconds=5)
    client.call("PUT", f"/api/cameras/{camera}", json={"enabled": True})
    client.wait_until("it is on", lambda: client.camera(camera)["status"] == "online", seconds=30)
    snapshot = client.call("GET", f"/api/cameras/{camera}/snapshot")
    assert snapshot.headers["X-Frame-Width"] == "1920"
    assert snapshot.headers["X-Frame-Height"] == "1080"
    client.call("DELETE", f"/api/cameras/{camera}")
    client.call("GET", f"/api/cameras/{camera}/snapshot", expect=404)


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
