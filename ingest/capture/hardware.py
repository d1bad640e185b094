"""Selects the machine's video hardware for decoding, if available and configured."""

from dataclasses import dataclass
from typing import Final

import av
import av.error
import structlog
from av.codec.hwaccel import HWAccel, hwdevices_available

log = structlog.get_logger(__name__)

SOFTWARE: Final = "software"
OFF: Final = "off"
AUTO: Final = "auto"

_CODEC: Final = "h264"
"""Codec that every video decoding device supports."""

_DOWNLOADED_FORMATS: Final = frozenset({"nv12", "p010le", "p012le", "p016le", "nv16", "p210le"})
"""Pixel formats of frames from devices. FFmpeg's software decoders for cameras do not use them."""


@dataclass(frozen=True)
class VideoDevice:
    """A video device: FFmpeg's name of its kind, and its own name (empty: the first device)."""

    kind: str
    name: str = ""

    def decoding(self) -> HWAccel:
        """Return the argument for ``av.open``. If the device cannot decode, the CPU does."""
        return HWAccel(self.kind, self.name or None, allow_software_fallback=True)

    def opens(self) -> bool:
        """Return whether the device is available."""
        try:
            self.decoding().create(av.Codec(_CODEC, "r"))
        except (av.error.FFmpegError, OSError, ValueError, NotImplementedError) as error:
            log.info("video_device_unavailable", kind=self.kind, error=type(error).__name__)
            return False
        return True


def find_device(setting: str) -> VideoDevice | None:
    """Return the device for ``KIND``, ``KIND:DEVICE``, ``auto`` or ``off``.

    Return None if there is no device or it cannot be opened. The CPU then decodes.
    """
    if setting == OFF:
        return None
    kind, _, name = setting.partition(":")
    wanted = [VideoDevice(each) for each in hwdevices_available()]
    if setting != AUTO:
        wanted = [VideoDevice(kind, name)]
    return next((device for device in wanted if device.opens()), None)


class DecodingChoice:
    """Chooses the decoder of a camera: a device until the device fails, then the CPU."""

    def __init__(self, device: VideoDevice | None) -> None:
        self._device = device

    def next(self) -> VideoDevice | None:
        """Return the device for the next connection, or None for the CPU."""
        if self._device is not None and not self._device.opens():
            self.disable()
        return self._device

    def disable(self) -> None:
        """Use the CPU from now on. The device is unavailable or cannot decode this stream."""
        if self._device is not None:
            log.warning("video_device_disabled", kind=self._device.kind)
        self._device = None


def decoder_of(frame: "av.VideoFrame", device: VideoDevice | None) -> str:
    """Return the decoder of a frame: the device's kind, or :data:`SOFTWARE`."""
    is_downloaded = frame.format.name in _DOWNLOADED_FORMATS
    return device.kind if device is not None and is_downloaded else SOFTWARE
