"""Frames of a camera become tiny, flat or broken in the middle of a stream, then normal again."""

from collections.abc import Iterator
from itertools import pairwise
from uuid import UUID

import msgspec
import numpy as np
import pytest

from common.records.cameras import CameraState
from common.records.frames import FrameKind, FrameMeta, FrameReference
from common.records.recognitions import FrameReadings
from common.urls.streams import StreamUrlRules, parse_stream_url
from ingest.capture.deadline import ConnectionDeadline
from ingest.capture.messages import CaptureLimits
from ingest.capture.opening import open_stream
from ingest.processes.process import PROGRAM_MODULE
from recognition.engine import Recognizer
from recognition.images import decode_image
from recognition.settings import RecognizerSettings
from streams.recognition.tracking.passes import TrackingRules
from streams.recognition.tracking.state import TrackerState
from tests.integration.ingest.clips import transport_stream
from tests.integration.ingest.hostile_cameras import HEAD, HostileCamera, playing, saying
from tests.integration.ingest.worker import CameraConfigs, IngestWorker, Outbox, World
from tests.integration.streams.recognition import scenes
from tests.odd_images import jpeg
from tests.services.families import running_below

pytestmark = pytest.mark.integration

Size = tuple[int, int]

USUAL = (scenes.WIDTH_PX, scenes.HEIGHT_PX)
ODD_SIZES = ((1, 1), (2, 2), (1920, 2), (3, 2000), (9000, 1), (17, 9))
EVEN_SIZES = ((2, 2), (16, 2), (2, 16), (1920, 2), (2, 1080), (16, 16))
"""Sizes that H.264 supports with 4:2:0 sampling."""

BEFORE, AFTER = scenes.PLATES[:2]
_SILENCE_MS = 3_000
RULES = StreamUrlRules(allow_loopback=True)
LIMITS = CaptureLimits(open_timeout_seconds=5, read_timeout_seconds=5)


def test_a_camera_goes_on_after_odd_and_broken_frames(
    world: World, configs: CameraConfigs, outbox: Outbox
) -> None:
    shown = [next(_drive(BEFORE))]
    with HostileCamera(playing(shown)) as hostile, IngestWorker(world) as worker:
        camera = configs.add(hostile.url()).camera_id

        def show(*jpegs: bytes, size: Size = USUAL) -> None:
            shown[:] = jpegs
            before = len(outbox.frames_of(camera))
            outbox.until(lambda: _sizes(outbox, camera)[before:].count(size) >= 2)

        for frame in _drive(BEFORE):
            show(frame)
        capturing = running_below(worker.pid, PROGRAM_MODULE)
        for size in ODD_SIZES:
            show(*_with_broken(jpeg(*size)), size=size)
        for frame in _drive(AFTER):
            show(frame)

        assert running_below(worker.pid, PROGRAM_MODULE) == capturing
        states = [status.state for status in outbox.statuses(camera)]
    assert CameraState.OFFLINE not in states
    frames = outbox.frames_of(camera)
    shapes = [decode_image(each.jpeg).shape[1::-1] for each in frames]
    assert shapes == _sizes(outbox, camera)
    assert _plates_of_passes([(each.meta, each.jpeg) for each in frames]) == [BEFORE, AFTER]


@pytest.mark.parametrize("odd", EVEN_SIZES)
def test_h264_of_an_odd_size_is_read_and_what_follows(odd: Size) -> None:
    sizes = [(640, 360), odd, (640, 360)]
    head = HEAD + b"Content-Type: video/mp2t\r\n\r\n"
    with (
        HostileCamera(saying(head + transport_stream(sizes, frames=5))) as camera,
        open_stream(
            parse_stream_url(camera.url(), RULES), RULES, LIMITS, ConnectionDeadline()
        ) as stream,
    ):
        frames = [frame.decoded for frame in stream.frames()]
    seen = [(frame.width_px, frame.height_px) for frame in frames]
    assert [seen[0], *(size for before, size in pairwise(seen) if size != before)] == sizes
    for frame in frames:
        assert decode_image(frame.jpeg(80).data).shape[1::-1] == (frame.width_px, frame.height_px)
        assert len(frame.grey()) == 100


def _plates_of_passes(frames: list[tuple[FrameMeta, bytes]]) -> list[str]:
    """Return the plates of the passes that the recognition stage finds in the frames."""
    recognizer, rules = Recognizer(RecognizerSettings.model_validate({})), TrackingRules()
    state, plates = TrackerState(), []
    last = msgspec.structs.replace(
        frames[-1][0], kind=FrameKind.TICK, captured_ms=frames[-1][0].captured_ms + _SILENCE_MS
    )
    for offset, (meta, image) in enumerate([*frames, (last, b"")]):
        record = FrameReadings(
            kind=meta.kind,
            camera_id=meta.camera_id,
            owner_id=meta.owner_id,
            camera_name=meta.camera_name,
            captured_ms=meta.captured_ms,
            frame=FrameReference(partition=0, offset=offset),
            width_px=meta.width_px,
            height_px=meta.height_px,
            readings=tuple(recognizer.recognize(decode_image(image))) if image else (),
        )
        step = state.apply_frame(record, rules)
        state = step.state
        plates += [one.plate for one in step.ended.passes]
    return plates


def _sizes(outbox: Outbox, camera: UUID) -> list[Size]:
    return [(each.meta.width_px, each.meta.height_px) for each in outbox.frames_of(camera)]


def _drive(plate: str) -> Iterator[bytes]:
    for number in range(4):
        car = scenes.Parked(plate, x_px=400 + 60 * number)
        yield scenes.jpeg(scenes.car_scene([car], seed=number))


def _with_broken(frame: bytes) -> list[bytes]:
    """Return a frame, and truncated and corrupted copies of the frame."""
    spoilt = bytearray(frame)
    spoilt[len(frame) // 2 :] = np.random.default_rng(1).bytes(len(frame) - len(frame) // 2)
    return [frame, frame[: len(frame) // 2], frame, bytes(spoilt), frame, frame[:20]]
