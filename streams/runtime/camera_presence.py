"""Derives online and offline events of a camera from its statuses. No I/O.

The webhooks and MQTT stages share this module, so that both announce the same state.
"""

from dataclasses import dataclass

from common.records.cameras import CameraState, CameraStatus
from common.records.codec import Record
from common.records.webhooks import EventName


class CameraPresence(Record, frozen=True, kw_only=True):
    """The last announced state of a camera: online or offline."""

    announced: CameraState


@dataclass(frozen=True)
class PresenceChange:
    """The presence of a camera after a status, and the event to publish, if any."""

    presence: CameraPresence | None
    event: EventName | None = None


def apply_status(
    known: CameraPresence | None, status: CameraStatus, *, offline_after_ms: int
) -> PresenceChange:
    """Return the presence of a camera after another status, and the event to publish.

    A camera is announced offline if it has been online and then sent no frame for
    ``offline_after_ms``. Connecting is not an event, because a camera also connects when another
    worker takes over from a crashed worker. A disabled camera is dropped without an event.
    """
    before = None if known is None else known.announced
    if status.state is CameraState.ONLINE and before is not CameraState.ONLINE:
        return PresenceChange(CameraPresence(announced=CameraState.ONLINE), EventName.CAMERA_ONLINE)
    if status.state is CameraState.OFFLINE and _is_surely_offline(status, offline_after_ms):
        return _offline(known)
    if status.state is CameraState.DISABLED:
        return PresenceChange(None)
    return PresenceChange(known)


def _offline(known: CameraPresence | None) -> PresenceChange:
    if known is None:
        # The camera was never announced online, so there is nothing to announce.
        return PresenceChange(None)
    if known.announced is CameraState.OFFLINE:
        return PresenceChange(known)
    return PresenceChange(CameraPresence(announced=CameraState.OFFLINE), EventName.CAMERA_OFFLINE)


def _is_surely_offline(status: CameraStatus, offline_after_ms: int) -> bool:
    return status.last_seen_ms is None or status.at_ms - status.last_seen_ms >= offline_after_ms
