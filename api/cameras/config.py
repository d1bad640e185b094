"""A camera as the ingest workers are told of it."""

import msgspec

from api.db.tables import Camera
from api.moments import to_unix_ms
from contracts.cameras import CameraConfig
from contracts.frames import Zone


def camera_config(camera: Camera) -> CameraConfig:
    """Return the record that stands for the camera on config-cameras."""
    return CameraConfig(
        camera_id=camera.id,
        owner_id=camera.owner_id,
        name=camera.name,
        stream_url_encrypted=camera.stream_url_encrypted,
        enabled=camera.enabled,
        revision=camera.revision,
        sample_fps=camera.sample_fps,
        min_plate_width_px=camera.min_plate_width_px,
        zones=msgspec.convert(camera.zones, tuple[Zone, ...]),
        identifier=camera.identifier,
        location=camera.location,
        timezone=camera.timezone,
        created_ms=to_unix_ms(camera.created_at),
    )
