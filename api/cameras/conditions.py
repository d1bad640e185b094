"""How a camera is doing: rules over what its worker last said."""

from api.cameras.models import CameraCondition, CameraRow
from api.moments import from_unix_ms_if_any
from contracts.cameras import CameraState, CameraStatus

_SILENT = "No ingest worker has reported on this camera for a while."


def condition_of(
    camera: CameraRow, status: CameraStatus | None, *, now_ms: int, stale_ms: float
) -> CameraCondition:
    """Return what readers are shown of a camera's state.

    A switched-off camera is disabled whatever was last heard. News of an older configuration means
    that the worker is about to connect anew. Silence for more than ``stale_ms`` means offline.
    """
    if status is None:
        return CameraCondition(
            CameraState.CONNECTING if camera.values.enabled else CameraState.DISABLED
        )
    state, error = status.state, status.last_error
    if not camera.values.enabled:
        state, error = CameraState.DISABLED, None
    elif now_ms - status.at_ms > stale_ms:
        state, error = CameraState.OFFLINE, _SILENT
    elif status.revision < camera.revision or state is CameraState.DISABLED:
        state = CameraState.CONNECTING
    return CameraCondition(
        state=state,
        last_seen_at=from_unix_ms_if_any(status.last_seen_ms),
        last_error=error,
        frame_width_px=status.frame_width_px,
        frame_height_px=status.frame_height_px,
    )
