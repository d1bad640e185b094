"""Whether a camera's motion stream can be gone by: it is there, and shows what the main one does.

Pure; all times are of arrival, monotonic, in seconds.
"""

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from ingest.capture.sampling import GreyImage
from ingest.errors import CaptureErrorCode

_SILENT_SECONDS: Final = 2.5
"""Without a picture for so long the main stream is opened: it is kept for longer."""

_TOLD_SECONDS: Final = 10.0
"""Without a picture for so long the owner is told: most cameras are back earlier."""

_MARGIN_SECONDS: Final = 2.0
"""The two streams may be so far apart: what is over in one may be still to come in the other."""

_COMPARED_SECONDS: Final = 4.0
_LASTING_SECONDS: Final = 30.0
_LASTING_TIMES: Final = 5
_AGREEING_TIMES: Final = 3
_SIZE_PX: Final = (64, 36)
"""Both pictures at this size: streams differ in their sizes, and often in their proportions."""

_BLUR_SIGMA_PX: Final = 6.0
_LEAST_DETAIL: Final = 1.5
"""Standard deviation of brightness, without what is smooth, above which a picture shows something:
noise averages out below it."""

_ALIKE: Final = 0.4
"""Correlation of what is not smooth. Two streams of a camera come to 0.8 and more, with another's
text drawn into them too; two scenes to 0.2."""

_FROZEN_SECONDS: Final = 20.0
_CHANGED_LEVELS: Final = 2
_CHANGED_PX: Final = 20
"""So many pixels of the main stream change by noise alone in a few seconds."""

_DRIFT_LEVELS: Final = 5
_DRIFT_CELLS: Final = 46
"""Two of a hundred cells (:data:`_SIZE_PX`): another light, or what came to stand. Noise averages
out below it, in both streams."""

_STUCK_TIMES: Final = 3

_EPISODE_SECONDS: Final = 2.0
_EPISODE_FRAMES: Final = 3
"""Movement in so many frames of the main stream is none of a moment's light."""

_UNSEEN_TIMES: Final = 3
_STRAY_TIMES: Final = 3
_OPEN_FRAMES: Final = 3
"""So many pictures of the main stream after the other one moved: it was decoded, and would have
shown it."""


@dataclass(slots=True)
class _Episode:
    """Movement in one stream, until it is known whether the other one showed it.

    ``frames`` are those of the main stream: in which something moved, or all of them.
    """

    begin_seconds: float
    frames: int = 1


class MotionTrust:
    """State of one camera. Not thread-safe."""

    def __init__(self, hold_seconds: float, now_seconds: float) -> None:
        """``hold_seconds``: for so long after the last movement something still moves."""
        self._quiet_seconds = hold_seconds + _MARGIN_SECONDS
        self._picture: GreyImage | None = None
        self._picture_seconds = now_seconds
        self._moved_seconds = now_seconds
        self._lost_with: CaptureErrorCode | None = None
        self._same_since = now_seconds
        self._main_then: GreyImage | None = None
        self._is_frozen = self._is_stuck = False
        self._cells_then: tuple[GreyImage, GreyImage] | None = None
        self._stuck = 0
        self._compared_seconds = -_COMPARED_SECONDS
        self._is_alike: bool | None = None
        self._differing_since = now_seconds
        self._differing = self._agreeing = 0
        self._is_other = False
        self._main_moved_seconds = -_COMPARED_SECONDS
        self._episode: _Episode | None = None
        self._unseen = 0
        self._alarm: _Episode | None = None
        self._stray = self._confirmed = 0
        self._is_astray = False

    def lost(self, code: CaptureErrorCode) -> None:
        """Note that the motion stream's connection is over."""
        self._lost_with = code
        self._picture = None
        self._episode = self._alarm = None

    def pictured(self, grey: GreyImage, moves: bool, seconds: float) -> None:
        """Note a picture of the motion stream, and whether it differs from those before."""
        before, self._picture = self._picture, grey
        if before is None or before.shape != grey.shape or not np.array_equal(before, grey):
            self._same_since, self._main_then, self._is_frozen = seconds, None, False
        self._picture_seconds = seconds
        self._lost_with = None
        if moves:
            # The first picture of a connection counts as movement, and is none.
            if before is not None and seconds - self._moved_seconds >= self._quiet_seconds:
                self._alarm = _Episode(seconds, frames=0)
            self._moved_seconds = seconds

    def main_pictured(self, grey: GreyImage, moves: bool, seconds: float) -> None:
        """Note a decoded picture of the main stream, and whether it differs from those before."""
        if not self._is_there(seconds) or self._picture is None:
            # What moves meanwhile says nothing of a stream that is away.
            self._episode = self._alarm = None
            return
        self._check_alarm(seconds)
        self._note_main_movement(moves, seconds)
        self._look_for_frozen(grey, seconds)
        if seconds - self._compared_seconds >= _COMPARED_SECONDS:
            self._compared_seconds = seconds
            self._compared(is_alike(grey, self._picture), seconds)
            self._look_for_drift(_cells(grey), _cells(self._picture))

    def is_quiet(self, seconds: float) -> bool | None:
        """Return whether nothing moves in the motion stream; None: it is not to be gone by."""
        is_good = self._is_there(seconds) and self._is_alike and not self._unseen
        is_odd = self._is_frozen or self._is_stuck or self._is_other or self._is_astray
        if not is_good or is_odd:
            return None
        return seconds - self._moved_seconds >= self._quiet_seconds

    def fault(self, seconds: float) -> CaptureErrorCode | None:
        """Return why the motion stream is not used, once that lasts; None: it is."""
        if self._lost_with is CaptureErrorCode.CRASH:
            return self._lost_with
        if seconds - self._picture_seconds >= _TOLD_SECONDS:
            return self._lost_with or CaptureErrorCode.SILENT
        if self._is_frozen or self._is_stuck:
            return CaptureErrorCode.FROZEN
        if self._is_other:
            return CaptureErrorCode.OTHER_PICTURE
        is_other_movement = self._is_astray or self._unseen >= _UNSEEN_TIMES
        return CaptureErrorCode.OTHER_MOVEMENT if is_other_movement else None

    def _is_there(self, seconds: float) -> bool:
        is_recent = seconds - self._picture_seconds < _SILENT_SECONDS
        return self._picture is not None and is_recent

    def _look_for_frozen(self, grey: GreyImage, seconds: float) -> None:
        then = self._main_then
        if then is None or then.shape != grey.shape:
            self._main_then = grey
        elif seconds - self._same_since >= _FROZEN_SECONDS and not self._is_frozen:
            self._is_frozen = _differing(then, grey, _CHANGED_LEVELS) >= _CHANGED_PX

    def _look_for_drift(self, main: GreyImage, motion: GreyImage) -> None:
        """Note whether the main picture has changed where the other one has not."""
        if self._cells_then is None:
            self._cells_then = main, motion
            return
        main_then, motion_then = self._cells_then
        has_drifted = _differing(main_then, main, _DRIFT_LEVELS) >= _DRIFT_CELLS
        follows = _differing(motion_then, motion, _DRIFT_LEVELS // 2) >= _DRIFT_CELLS // 2
        self._stuck = self._stuck + 1 if has_drifted and not follows else 0
        self._is_stuck = (self._is_stuck and not follows) or self._stuck >= _STUCK_TIMES
        if has_drifted and follows:
            self._cells_then = main, motion

    def _compared(self, is_alike: bool | None, seconds: float) -> None:
        if is_alike is None:
            # Nothing is to be seen in either: no reason for doubt.
            self._is_alike = self._is_alike is not False
            return
        self._is_alike = is_alike
        if is_alike:
            self._differing = 0
            self._agreeing += 1
            self._is_other = self._is_other and self._agreeing < _AGREEING_TIMES
            return
        if not self._differing:
            self._differing_since = seconds
        self._differing += 1
        self._agreeing = 0
        lasts = seconds - self._differing_since >= _LASTING_SECONDS
        self._is_other = self._is_other or (lasts and self._differing >= _LASTING_TIMES)

    def _check_alarm(self, seconds: float) -> None:
        """Note whether what moved in the motion stream did so in the main one too.

        One that comes late opens the main stream when all is over there.
        """
        alarm = self._alarm
        if alarm is None:
            return
        if seconds <= alarm.begin_seconds + _EPISODE_SECONDS + _MARGIN_SECONDS:
            alarm.frames += seconds >= alarm.begin_seconds
            return
        self._alarm = None
        if self._main_moved_seconds >= alarm.begin_seconds - 2 * _MARGIN_SECONDS:
            self._stray = 0
            self._confirmed += 1
            self._is_astray = self._is_astray and self._confirmed < _AGREEING_TIMES
        elif alarm.frames >= _OPEN_FRAMES:
            self._confirmed = 0
            self._stray += 1
            self._is_astray = self._is_astray or self._stray >= _STRAY_TIMES

    def _note_main_movement(self, moves: bool, seconds: float) -> None:
        if moves:
            self._main_moved_seconds = seconds
        episode = self._episode
        if episode is None:
            self._episode = _Episode(seconds) if moves else None
            return
        age_seconds = seconds - episode.begin_seconds
        if age_seconds <= _EPISODE_SECONDS:
            episode.frames += moves
        # Until then it may still come in the other stream.
        if age_seconds > _EPISODE_SECONDS + _MARGIN_SECONDS:
            self._episode = None
            if episode.frames >= _EPISODE_FRAMES:
                is_seen = self._moved_seconds >= episode.begin_seconds - 2 * _MARGIN_SECONDS
                self._unseen = 0 if is_seen else self._unseen + 1


def is_alike(one: GreyImage, other: GreyImage) -> bool | None:
    """Return whether two pictures show one scene; None where neither shows anything."""
    first, second = _detail(one), _detail(other)
    deviations = float(first.std()), float(second.std())
    if max(deviations) < _LEAST_DETAIL:
        return None
    if min(deviations) < _LEAST_DETAIL / 3:
        return False
    correlation = float((first * second).mean()) / (deviations[0] * deviations[1])
    return correlation >= _ALIKE


def _cells(image: GreyImage) -> GreyImage:
    """Return a picture of whatever size as one of 64 x 36 cells, shape (36, 64)."""
    return np.asarray(cv2.resize(image, _SIZE_PX, interpolation=cv2.INTER_AREA), np.uint8)


def _differing(one: GreyImage, other: GreyImage, levels: int) -> int:
    """Return how many pixels of two pictures of one shape differ by more than ``levels``."""
    return int(np.count_nonzero(cv2.absdiff(one, other) > levels))


def _detail(image: GreyImage) -> NDArray[np.float32]:
    """Return what is not smooth in a picture, shape (36, 64), with a mean of 0."""
    small = _cells(image).astype(np.float32)
    detail = small - cv2.GaussianBlur(small, (0, 0), _BLUR_SIGMA_PX)
    return np.asarray(detail - detail.mean(), np.float32)
