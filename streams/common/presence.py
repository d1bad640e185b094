"""When a camera came or went, from what is told of it. Pure."""

from dataclasses import dataclass

from contracts.cameras import CameraState, CameraStatus
from contracts.records import Record
from contracts.webhooks import EventName


class Presence(Record, frozen=True, kw_only=True):
    """What was last announced of a camera: online, offline, or (disabled) nothing."""

    announced: CameraState


@dataclass(frozen=True)
class Step:
    """What is known after a status, and what to announce."""

    presence: Presence | None
    event: EventName | None = None


def advance(known: Presence | None, status: CameraStatus, *, offline_after_ms: int) -> Step:
    """Take in one status.

    A camera is announced offline once it was seen online and has then been without a frame for
    ``offline_after_ms``; connecting, as when a worker died and another one took the camera over, is
    no news. A camera that its owner switches off is forgotten without a word.
    """
    before = None if known is None else known.announced
    if status.state is CameraState.ONLINE and before is not CameraState.ONLINE:
        return Step(Presence(announced=CameraState.ONLINE), EventName.CAMERA_ONLINE)
    if status.state is CameraState.OFFLINE and _is_surely_gone(status, offline_after_ms):
        return _offline(known)
    if status.state is CameraState.DISABLED:
        return Step(None)
    return Step(known)


def _offline(known: Presence | None) -> Step:
    if known is None:
        # It never was there: nobody waits for it to come back.
        return Step(None)
    if known.announced is CameraState.OFFLINE:
        return Step(known)
    return Step(Presence(announced=CameraState.OFFLINE), EventName.CAMERA_OFFLINE)


def _is_surely_gone(status: CameraStatus, offline_after_ms: int) -> bool:
    return status.last_seen_ms is None or status.at_ms - status.last_seen_ms >= offline_after_ms
