"""While a camera's motion stream shows that nothing moves, its main stream is not decoded."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ingest.capture.messages import Seen
from ingest.errors import CaptureErrorCode
from tests.unit.ingest.capture.scenes import (
    FPS,
    GROUP_SECONDS,
    Painter,
    SmallStream,
    Watch,
    frames_between,
    nothing,
    passing,
    watch_stream,
)
from tests.unit.ingest.capture.scenes import video as encoded

REST_SECONDS = 20
"""Until both motion gates have closed, and the sizes of packets are known."""

END_SECONDS = 8
"""What is kept at the end of a stream is decoded then."""


def video(seconds: float, paint: Painter = nothing, **options: Any) -> bytes:
    """What the main stream shows."""
    return encoded(seconds, paint, **{"scene_number": 1, **options})


def _small(seconds: float, paint: Painter = nothing, **options: Any) -> bytes:
    return video(seconds, paint, size=(160, 90), fps=5, **options)


def _watched(
    seconds: float, paint: Painter = nothing, *, late_seconds: float = 0.0, **options: Any
) -> tuple[Watch, SmallStream]:
    small = SmallStream(_small(seconds, paint), late_seconds=late_seconds)
    return watch_stream(video(seconds, paint, **options), small=small), small


def _decoded(watch: Watch, begin: float, end: float) -> list[float]:
    return [each for each in watch.whole + watch.glimpses if begin <= each < end]


def test_of_a_still_scene_a_key_frame_now_and_then_is_decoded() -> None:
    watch, small = _watched(48)

    # Every five seconds, at the next key frame.
    assert 3 <= len(_decoded(watch, REST_SECONDS + 0.1, 48 - END_SECONDS)) <= 4
    assert set(small.faults) == {None}


def test_the_camera_is_told_of_while_nothing_is_decoded() -> None:
    watch, _ = _watched(40)

    seen = [each for each in watch.reports if isinstance(each, Seen) and each.holds_back]
    seen = [each for each in seen if each.alive_seconds > REST_SECONDS + 5]
    assert max(np.diff([each.alive_seconds for each in seen])) <= 1.1
    # What may still come is from after it.
    assert all(2 <= each.alive_seconds - each.settled.arrival_seconds <= 8 for each in seen)
    assert all(each.is_still for each in seen)
    settled = [each.settled.arrival_seconds for each in seen]
    assert settled == sorted(settled)


@pytest.mark.parametrize(
    ("begin", "late_seconds", "bframes"),
    [(24.1, 0.0, "0"), (25.3, 2.0, "0"), (24.1, 2.0, "2"), (25.3, 0.0, "2")],
)
def test_what_passes_is_seen_whole(begin: float, late_seconds: float, bframes: str) -> None:
    moving = passing(begin, begin + 0.6)
    watch, small = _watched(34, moving, late_seconds=late_seconds, bf=bframes)

    came = set(watch.whole) | set(watch.glimpses)
    assert frames_between(begin - 1, begin + 3) <= came
    assert watch.whole == sorted(set(watch.whole))
    assert bframes == "0" or len(_decoded(watch, 12.1, 17.9)) <= 1
    # Besides the first ones of the connection, no still ones from before it.
    assert 16 + 3 + 15 - 1 <= watch.sent <= 16 + 3 + 15 + 3
    assert set(small.faults) == {None}


def test_what_the_main_stream_shows_later_is_seen_whole() -> None:
    small = SmallStream(_small(32, passing(20, 20.6)))
    watch = watch_stream(video(32, passing(22, 22.6), bf="2"), small=small)

    assert frames_between(19, 25) <= set(watch.whole) | set(watch.glimpses)
    assert watch.sent >= 3 + 15


def test_after_a_pass_the_stream_rests_again() -> None:
    watch, _ = _watched(44, passing(14, 15), bf="2")

    assert len(_decoded(watch, 24, 44 - END_SECONDS)) <= 3


def test_a_motion_stream_that_is_away_leaves_the_main_one_to_itself() -> None:
    moving = passing(24.1, 24.7)
    watch = watch_stream(video(36, moving), small=_away())

    assert watch.glimpses
    assert frames_between(24.1, 24.7) <= set(watch.whole)
    assert watch.sent >= 3 + 15


def _away() -> SmallStream:
    return SmallStream(_small(0.2))


def test_a_motion_stream_that_falls_silent_is_told_and_loses_nothing() -> None:
    # While it is quiet and gone by, just before something passes.
    small = SmallStream(_small(19.9))
    watch = watch_stream(video(40, passing(20.1, 20.7), bf="2"), small=small)

    assert not _decoded(watch, 12.1, 14.9)
    assert frames_between(20, 21) <= set(watch.whole) | set(watch.glimpses)
    assert watch.sent >= 3 + 15
    assert 29 <= small.faults[CaptureErrorCode.SILENT] <= 31
    # Its frames are reordered: by itself it is decoded whole.
    assert frames_between(24, 38) <= set(watch.whole)


def test_a_motion_stream_of_another_scene_is_told_and_not_gone_by() -> None:
    small = SmallStream(_small(60, scene_number=2))
    watch = watch_stream(video(60, passing(50, 50.6), bf="2"), small=small)

    assert frames_between(1, 58) <= set(watch.whole)
    assert 30 <= small.faults[CaptureErrorCode.OTHER_PICTURE] <= 45


def test_a_frozen_motion_stream_is_told_and_not_gone_by() -> None:
    small = SmallStream(_small(45, noise=0, g="10000", qp="20"))
    watch = watch_stream(video(45, bf="2"), small=small)

    assert 20 <= small.faults[CaptureErrorCode.FROZEN] <= 30
    assert set(small.faults) == {None, CaptureErrorCode.FROZEN}
    assert frames_between(32, 43) <= set(watch.whole)


def test_a_picture_that_stands_still_and_is_encoded_again_is_told_once_the_light_changes() -> None:
    def clouds(seconds: float, image: NDArray[np.uint8]) -> None:
        if seconds > 14:
            image[:] = np.clip(image.astype(np.int16) + min(20, round(4 * (seconds - 14))), 0, 255)

    small = SmallStream(_small(50, noise=0))
    watch = watch_stream(video(50, clouds, bf="2"), small=small)

    assert 22 <= small.faults[CaptureErrorCode.FROZEN] <= 40
    assert frames_between(42, 48) <= set(watch.whole)
    both, same = video(50, clouds, bf="2"), SmallStream(_small(50, clouds))
    watch_stream(both, small=same)
    assert set(same.faults) == {None}


def test_without_noise_nothing_is_called_frozen() -> None:
    small = SmallStream(_small(50, noise=0))
    watch = watch_stream(video(50, noise=0), small=small)

    assert set(small.faults) == {None}
    assert len(_decoded(watch, REST_SECONDS + 5, 50 - END_SECONDS)) <= 4


def test_a_motion_stream_that_misses_what_moves_is_told() -> None:
    def often(seconds: float, image: NDArray[np.uint8]) -> None:
        for begin in (20, 35, 50, 65):
            passing(begin, begin + 1.5)(seconds, image)

    small = SmallStream(_small(80))
    watch = watch_stream(video(80, often), small=small)

    # Seen by the sizes of packets.
    assert frames_between(35, 36.5) <= set(watch.whole)
    assert 54 <= small.faults[CaptureErrorCode.OTHER_MOVEMENT] <= 72


def test_a_motion_stream_that_is_right_again_is_gone_by_again() -> None:
    other, same = _small(45, scene_number=2), _small(45)
    small = SmallStream(other, same)
    watch = watch_stream(video(89, bf="2"), small=small)

    faults = list(small.faults)
    assert faults == [None, CaptureErrorCode.OTHER_PICTURE]
    assert small.trust.fault(86) is None
    assert len(_decoded(watch, 70.1, 80)) <= 2


def test_a_stream_that_lies_about_key_frames_is_decoded_whole_though_it_is_watched() -> None:
    def lie(number: int, packet: Any) -> None:
        if number > 8 * FPS:
            packet.is_keyframe = number % (GROUP_SECONDS * FPS) == FPS

    small = SmallStream(_small(30, passing(20, 21)))
    watch = watch_stream(video(30, passing(20, 21)), small=small, alter=lie)

    assert frames_between(20, 21) <= set(watch.whole)


def test_a_stream_too_large_to_be_kept_is_judged_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ingest.capture.held_packets.MAX_WATCHED_PACKETS", 3 * FPS)
    watch, small = _watched(40, passing(30.1, 30.7), bf="2")

    assert len(watch.kept) <= 4
    # Nothing is lost, neither when it is found out nor later: its frames are reordered.
    opened = watch.kept[-1].oldest.seconds
    assert frames_between(opened + 0.1, 38) <= set(watch.whole) | set(watch.glimpses)
    assert set(small.faults) == {None}
