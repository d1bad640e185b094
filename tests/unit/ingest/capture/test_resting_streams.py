"""Without motion, only key frames are decoded; motion is captured from its first frame on."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.unit.ingest.capture.scenes import (
    FPS,
    GROUP_SECONDS,
    REST_SECONDS,
    frames_between,
    passing,
    video,
    watch_stream,
)

B_FRAMES = {"preset": "veryfast", "bf": "3"}


@pytest.mark.parametrize("options", [{}, B_FRAMES], ids=["plain", "B-frames"])
def test_of_a_still_scene_key_frames_only_are_decoded(options: dict[str, str]) -> None:
    watch = watch_stream(video(40, options=options))

    assert len(watch.glimpses) >= 11
    # Frames that are still buffered at the end of the stream are decoded then.
    assert not [seconds for seconds in watch.whole if REST_SECONDS <= seconds <= 38]
    assert watch.glimpses == sorted(watch.glimpses)


def test_resting_can_be_disabled() -> None:
    watch = watch_stream(video(30), may_reduce=False)

    assert watch.glimpses == []
    assert len(watch.whole) == 30 * FPS


@pytest.mark.parametrize(
    ("begin", "options"),
    [
        (20.1, {}),
        (20.7, {}),
        (21.3, {}),
        (20.7, {"bf": "2"}),
        (20.7, B_FRAMES),
        (20.7, {**B_FRAMES, "open-gop": "1"}),
    ],
)
def test_what_passes_between_two_key_frames_is_seen_whole(
    begin: float, options: dict[str, str]
) -> None:
    watch = watch_stream(video(30, passing(begin, begin + 0.6), options=options))

    assert watch.glimpses
    assert min(watch.whole) < 1
    assert frames_between(20 + 1 / FPS, 22) <= set(watch.whole)
    assert watch.whole == sorted(set(watch.whole))
    # The frames with motion are sent, and the frames of the three seconds after the motion.
    assert watch.sent >= 3 + 15


def test_what_only_the_key_frame_shows_is_seen_from_the_one_before_on() -> None:
    # The change is so slow that packets hardly grow.
    def fade(seconds: float, image: NDArray[np.uint8]) -> None:
        share = min(1.0, max(0.0, (seconds - 20) / 6))
        part = image[40:140, 80:240]
        image[40:140, 80:240] = (part + share * (200 - part.astype(np.float32))).astype(np.uint8)

    watch = watch_stream(video(30, fade))

    opened = min(seconds for seconds in watch.whole if seconds > REST_SECONDS)
    # The first decoded frame follows a key frame in which nothing was visible yet.
    assert 20 <= opened <= 25
    assert frames_between(opened, 28) <= set(watch.whole)
    assert watch.whole == sorted(set(watch.whole))


def test_a_stream_that_lies_about_key_frames_is_decoded_whole() -> None:
    def lie(number: int, packet: Any) -> None:
        if number % (GROUP_SECONDS * FPS) == FPS:
            packet.is_keyframe = True
        elif number > 10 * FPS:
            packet.is_keyframe = False

    watch = watch_stream(video(30, passing(20, 21)), alter=lie)

    assert frames_between(20, 21) <= set(watch.whole)
    assert len(watch.whole) >= 29 * FPS


def test_a_stream_that_calls_every_frame_a_key_frame_is_decoded_whole() -> None:
    def lie(number: int, packet: Any) -> None:
        packet.is_keyframe = True

    watch = watch_stream(video(25), alter=lie)

    assert len(watch.whole) == 25 * FPS


def test_without_a_key_frame_for_a_minute_the_stream_is_opened_in_time() -> None:
    def lie(number: int, packet: Any) -> None:
        if number > 20 * FPS:
            packet.is_keyframe = False

    watch = watch_stream(video(80), alter=lie)

    # No motion is detected until a key frame is overdue. Buffered frames are late, but not lost.
    assert watch.glimpses
    assert frames_between(20, 80) <= set(watch.whole) | set(watch.glimpses)


def test_a_stream_may_change_its_size_and_start_its_time_again_while_at_rest() -> None:
    small = video(24)
    large = video(20, passing(10, 11), size=(480, 270))

    watch = watch_stream(small + large)

    assert (480, 270) in watch.sizes
    assert watch.sent >= 15 + 5


def test_what_is_held_back_takes_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.capture.camera_stream.MAX_HELD_PACKETS", 10)
    watch = watch_stream(video(30))

    assert watch.glimpses
    assert len(watch.whole) >= 29 * FPS
