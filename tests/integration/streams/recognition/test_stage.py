"""The recognition stage with a real Kafka and a real S3."""

from pathlib import Path
from uuid import uuid4

import cv2
import numpy as np
import pytest
from kafka import KafkaConsumer
from minio import Minio

from api.health.stack_check import late_frames
from common.kafka.clients import consumer_options, group_name
from common.records.frames import FrameKind
from common.settings import KafkaSettings, S3Settings
from common.timestamps import now_ms
from recognition.images import decode_image
from tests.integration.streams.conftest import four_partitions
from tests.integration.streams.recognition.cameras import Cameras, Outcome, draw
from tests.integration.streams.recognition.conftest import RunningStage, StartStage
from tests.integration.streams.recognition.scenes import PLATES, car_scene, jpeg
from tests.records import camera_id_on
from tests.services.s3 import s3_client, s3_process, settings_of
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

partition_count = four_partitions


def stored(client: Minio, settings: S3Settings, key: str) -> bytes:
    answer = client.get_object(settings.s3_bucket, key)
    try:
        return answer.data
    finally:
        answer.close()
        answer.release_conn()


def test_a_pass_becomes_one_recognition_with_its_images(
    own_cameras: Cameras, own_outcome: Outcome, running_stage: RunningStage
) -> None:
    start_ms = now_ms()
    camera = own_cameras.drive_past(PLATES[0], start_ms=start_ms)
    own_cameras.tick(camera, start_ms + 3000)
    own_outcome.until("the recognition", lambda: bool(own_outcome.recognitions))
    (found,) = own_outcome.recognitions
    assert found.plate == PLATES[0]
    assert found.camera_id == camera
    assert found.camera_name == "Gate"
    assert found.confidence == pytest.approx(
        sum(found.character_confidences) / len(found.character_confidences)
    )
    assert found.first_seen_ms == start_ms
    assert found.last_seen_ms == start_ms + 1000
    assert start_ms <= found.captured_ms <= start_ms + 1000
    assert found.readings_count == 6
    number = (found.captured_ms - start_ms) // 200
    client = s3_client(running_stage.s3)
    assert found.photo_key is not None
    assert found.crop_key is not None
    photo = decode_image(stored(client, running_stage.s3, found.photo_key))
    crop = decode_image(stored(client, running_stage.s3, found.crop_key))
    assert found.box is not None
    middle_px = found.box.x + found.box.width / 2
    assert middle_px == pytest.approx(400 + 60 * number, abs=10)
    assert photo.shape == (720, 1280, 3)
    similar = cv2.matchTemplate(photo, crop, cv2.TM_CCOEFF_NORMED)
    y, x = np.unravel_index(similar.argmax(), similar.shape)
    assert x + crop.shape[1] / 2 == pytest.approx(middle_px, abs=10)
    assert similar.max() > 0.9
    own_cameras.tick(camera, start_ms + 63_000)
    own_outcome.until("the counts", lambda: own_outcome.counted("reported") == 1)
    assert [own_outcome.counted(name) for name in ("read", "found", "readings")] == [6, 6, 6]
    assert {minute.camera_id for minute in own_outcome.minutes} == {camera}


def test_a_pass_that_is_in_view_when_its_camera_goes_comes_out_at_once(
    own_cameras: Cameras, own_outcome: Outcome
) -> None:
    start_ms = now_ms()
    camera = own_cameras.drive_past(PLATES[2], start_ms=start_ms)
    own_cameras.send(camera, start_ms + 1000, b"", FrameKind.END)
    own_outcome.until("the recognition", lambda: bool(own_outcome.recognitions))
    assert own_outcome.plates() == [PLATES[2]]
    assert own_outcome.readings[-1].kind is FrameKind.END
    # The plate is reported once: END has ended its track, and the tick belongs to no track.
    own_cameras.tick(camera, start_ms + 9000)
    own_outcome.until("the tick", lambda: own_outcome.readings[-1].captured_ms == start_ms + 9000)
    assert own_outcome.plates() == [PLATES[2]]


def test_of_a_deleted_camera_kafka_keeps_no_plate(
    own_cameras: Cameras, own_outcome: Outcome, running_stage: RunningStage
) -> None:
    start_ms = now_ms()
    camera = own_cameras.drive_past(PLATES[3], start_ms=start_ms)
    own_cameras.send(camera, start_ms + 1200, b"", FrameKind.END, deleted=True)
    own_outcome.until("the recognition", lambda: bool(own_outcome.recognitions))
    consumer = KafkaConsumer(
        f"{group_name(running_stage.kafka, 'recognition')}-cameras-changelog",
        **consumer_options(running_stage.kafka, "changelog"),
    )
    last: dict[bytes, bytes | None] = {}

    def is_forgotten() -> bool:
        for records in consumer.poll(100).values():
            last.update((record.key, record.value) for record in records)
        return last.get(str(camera).encode(), b"") is None

    wait_until("the tombstone", is_forgotten)
    consumer.close()
    assert not any(PLATES[3].encode() in (value or b"") for value in last.values())
    assert own_outcome.plates() == [PLATES[3]]


def test_a_pass_that_a_kill_cuts_comes_out_once(
    start_stage: StartStage, cameras: Cameras, outcome: Outcome, s3_settings: S3Settings
) -> None:
    first = start_stage("one")
    start_ms = now_ms()
    camera = cameras.drive_past(PLATES[2], frames=4, start_ms=start_ms)
    outcome.until("readings of the first half", lambda: len(outcome.readings) >= 3)
    first.kill()
    cameras.drive_past(PLATES[2], frames=4, start_ms=start_ms + 800, camera_id=camera)
    start_stage("two")
    cameras.tick(camera, start_ms + 5000)
    outcome.until("the recognition", lambda: bool(outcome.recognitions))
    other = cameras.drive_past(PLATES[3], start_ms=now_ms())
    cameras.tick(other, now_ms() + 5000)
    cameras.tick(camera, start_ms + 60_000)
    outcome.until("a later pass", lambda: PLATES[3] in outcome.plates())
    ids = {r.id for r in outcome.recognitions if r.plate == PLATES[2]}
    assert len(ids) == 1
    assert {r.first_seen_ms for r in outcome.recognitions if r.plate == PLATES[2]} == {start_ms}
    stat = s3_client(s3_settings).stat_object(
        s3_settings.s3_bucket, outcome.recognitions[0].photo_key or ""
    )
    assert stat.size


def test_what_cannot_be_read_is_dead_lettered_and_the_rest_goes_on(
    own_cameras: Cameras, own_outcome: Outcome
) -> None:
    start_ms = now_ms()
    camera = own_cameras.drive_past(PLATES[4], frames=3, start_ms=start_ms)
    whole = jpeg(car_scene())
    own_cameras.send(camera, start_ms + 600, whole[:-100])
    own_cameras.send(camera, start_ms + 650, b"GIF89a")
    own_cameras.send_raw(camera, whole, None)
    own_cameras.send_raw(camera, whole, b'{"version": 99}')
    own_cameras.tick(camera, start_ms + 4000)
    own_outcome.until("the recognition", lambda: bool(own_outcome.recognitions))
    own_outcome.until("dead letters", lambda: len(own_outcome.dead_letters) == 2)
    assert own_outcome.plates() == [PLATES[4]]
    assert {letter.code for letter in own_outcome.dead_letters} == {
        "unreadable_record",
        "unknown_record_version",
    }
    assert len(own_outcome.readings) == 6


def test_unreadable_images_do_not_stop_the_stage_for_others(
    own_cameras: Cameras, own_outcome: Outcome
) -> None:
    start_ms = now_ms()
    camera = uuid4()
    for number in range(20):
        own_cameras.send(camera, start_ms + number, b"GIF89a")
    own_outcome.until("empty readings", lambda: len(own_outcome.readings) == 20)
    other = own_cameras.drive_past(PLATES[4], start_ms=start_ms)
    own_cameras.tick(other, start_ms + 5000)
    own_outcome.until("the pass of another camera", lambda: own_outcome.plates() == [PLATES[4]])
    assert not own_outcome.dead_letters


@pytest.mark.long
def test_fresh_frames_go_first_and_what_a_kill_cuts_off_is_read_late(
    start_stage: StartStage, cameras: Cameras, outcome: Outcome, kafka_topics: KafkaSettings
) -> None:
    other, camera = (camera_id_on(n, range(kafka_topics.kafka_partitions)) for n in (0, 1))
    settings = {
        "streams.recognition.app.DEADLINE_MS": "20000",
        "streams.recognition.tracking.passes.LONGEST_TRACK_MS": "4000",
        "streams.recognition.app.LONGEST_TRACK_MS": "4000",
        "tracking_silence_seconds": "5",
    }
    first = start_stage(**settings)
    cameras.tick(other, now_ms())
    outcome.until("that it reads", lambda: bool(outcome.readings))
    draw(PLATES[:6], frames=11)
    first.pause()
    outage_ms = now_ms() - 120_000
    for number in range(5):
        cameras.drive_past(
            PLATES[number],
            frames=11,
            start_ms=outage_ms + 15_000 * number,
            camera_id=camera,
            is_in_time=True,
        )
    fresh_ms = now_ms()
    # Both lanes process the end of the last vehicle.
    cameras.drive_past(PLATES[5], frames=11, start_ms=fresh_ms, camera_id=camera, is_in_time=True)
    cameras.tick(camera, fresh_ms + 6000, is_in_time=True)
    first.resume()
    outcome.until("a late reading", lambda: any(r.late for r in outcome.readings))
    first.kill()
    assert not outcome.closed_gaps
    (warning,) = late_frames(kafka_topics)
    assert "late frames" in warning
    start_stage("another", **settings)
    outcome.until("the end of the gap", lambda: bool(outcome.closed_gaps))
    wait_until("the end of the warning", lambda: not late_frames(kafka_topics))
    outcome.until("all passes", lambda: len({r.id for r in outcome.recognitions}) >= 6)

    passes = {r.id: r for r in outcome.recognitions}
    found = sorted(passes.values(), key=lambda r: r.first_seen_ms)
    assert [r.plate for r in found] == list(PLATES[:6])
    assert min(r.readings_count for r in found) >= 2
    assert not next(r for r in outcome.readings if r.camera_id == camera).late


def test_images_wait_for_a_bucket_that_is_missing_and_the_plate_does_not(
    start_stage: StartStage, cameras: Cameras, outcome: Outcome, s3_settings: S3Settings
) -> None:
    client = s3_client(s3_settings)
    client.remove_bucket(s3_settings.s3_bucket)
    worker = start_stage()
    start_ms = now_ms()
    camera = cameras.drive_past(PLATES[0], start_ms=start_ms)
    cameras.tick(camera, start_ms + 3000)
    outcome.until("the recognition", lambda: bool(outcome.recognitions))
    log = worker.log.read_text()
    assert ("images_delayed" in log, "transient_failure" in log) == (True, False)
    (found,) = outcome.recognitions
    keys = {found.photo_key, found.crop_key}

    client.make_bucket(s3_settings.s3_bucket)

    def stored_keys() -> set[str | None]:
        objects = client.list_objects(s3_settings.s3_bucket, recursive=True)
        return {one.object_name for one in objects}

    wait_until("the images", lambda: stored_keys() == keys, 90)


def test_without_room_for_images_plates_go_on(
    start_stage: StartStage, cameras: Cameras, outcome: Outcome, full_s3_server: S3Settings
) -> None:
    worker = start_stage(s3_endpoint=full_s3_server.s3_endpoint, s3_bucket=full_s3_server.s3_bucket)
    start_ms = now_ms()
    camera = cameras.drive_past(PLATES[0], start_ms=start_ms)
    cameras.tick(camera, start_ms + 3000)
    outcome.until("the recognition", lambda: bool(outcome.recognitions))

    (found,) = outcome.recognitions
    assert (found.plate, found.photo_key, found.crop_key) == (PLATES[0], None, None)
    log = worker.log.read_text()
    assert log.count("image_store_full") == 1
    assert "transient_failure" not in log


@pytest.mark.long
@pytest.mark.parametrize(
    ("is_frozen", "is_killed"), [(True, False), (False, True)], ids=["frozen", "gone, and killed"]
)
def test_while_s3_is_unavailable_plates_continue_and_images_follow(
    start_stage: StartStage,
    cameras: Cameras,
    outcome: Outcome,
    tmp_path: Path,
    is_frozen: bool,
    is_killed: bool,
) -> None:
    with s3_process(tmp_path / "own") as s3:
        settings = settings_of(s3)
        own = {name: str(getattr(settings, name)) for name in ("s3_endpoint", "s3_bucket")}
        worker = start_stage("one", **own)
        warm_up = cameras.drive_past(PLATES[3], start_ms=now_ms())
        cameras.tick(warm_up, now_ms() + 3000)
        outcome.until("it works", lambda: len(outcome.recognitions) == 1)
        s3.pause() if is_frozen else s3.stop()
        for plate in PLATES[:3]:
            camera = cameras.drive_past(plate, start_ms=now_ms())
            cameras.tick(camera, now_ms() + 3000)
        outcome.until("the plates", lambda: len(outcome.recognitions) == 4)
        assert "transient_failure" not in worker.log.read_text()
        if is_killed:
            worker.kill()
        s3.resume() if is_frozen else s3.start()
        if is_killed:
            start_stage("two", **own)
        keys = {
            key
            for seen in outcome.recognitions
            for key in (seen.photo_key, seen.crop_key)
            if key is not None
        }
        assert len(keys) == 8
        client = s3_client(settings)

        def stored_keys() -> set[str | None]:
            found = client.list_objects(settings.s3_bucket, recursive=True)
            return {one.object_name for one in found}

        wait_until("the images", lambda: stored_keys() == keys, 90)


def test_cameras_move_to_another_worker_and_every_pass_comes_out_once(
    start_stage: StartStage, cameras: Cameras, outcome: Outcome
) -> None:
    first = start_stage("one")
    start_ms = now_ms()
    ids = [uuid4() for _ in PLATES]
    for camera, plate in zip(ids, PLATES, strict=True):
        cameras.drive_past(plate, frames=2, start_ms=start_ms, camera_id=camera)
    outcome.until("some readings", lambda: len(outcome.readings) >= 4)
    start_stage("two")
    for camera, plate in zip(ids, PLATES, strict=True):
        cameras.drive_past(plate, frames=2, start_ms=start_ms + 400, camera_id=camera)
    outcome.until("more readings", lambda: len(outcome.readings) >= 14, seconds=90)
    first.kill()
    for camera, plate in zip(ids, PLATES, strict=True):
        cameras.drive_past(plate, frames=2, start_ms=start_ms + 800, camera_id=camera)
        cameras.tick(camera, start_ms + 4000)
    outcome.until("all passes", lambda: set(outcome.plates()) == set(PLATES), seconds=120)
    for camera in ids:
        cameras.tick(camera, start_ms + 50_000)
    outcome.until("the last ticks", lambda: _cameras_at(outcome, start_ms + 50_000) == len(ids))
    assert len({r.id for r in outcome.recognitions}) == len(PLATES)
    assert {r.first_seen_ms for r in outcome.recognitions} == {start_ms}


def _cameras_at(outcome: Outcome, captured_ms: int) -> int:
    return len({r.camera_id for r in outcome.readings if r.captured_ms == captured_ms})
