"""Decoding by the machine's own video hardware, where there is some and it is asked for."""

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
"""Every device that decodes video decodes this one."""

_DOWNLOADED_FORMATS: Final = frozenset({"nv12", "p010le", "p012le", "p016le", "nv16", "p210le"})
"""Formats in which devices give frames back; FFmpeg's own decoders of cameras' video use none."""


@dataclass(frozen=True)
class VideoDevice:
    """A kind of device, as FFmpeg names them, and which one of them (empty: the first)."""

    kind: str
    name: str = ""

    def decoding(self) -> HWAccel:
        """Return what ``av.open`` takes; streams that the device cannot decode are decoded here."""
        return HWAccel(self.kind, self.name or None, allow_software_fallback=True)

    def opens(self) -> bool:
        """Tell whether the device is there and may be used."""
        try:
            self.decoding().create(av.Codec(_CODEC, "r"))
        except (av.error.FFmpegError, OSError, ValueError, NotImplementedError) as error:
            log.info("video_device_unusable", kind=self.kind, error=type(error).__name__)
            return False
        return True


def find_device(setting: str) -> VideoDevice | None:
    """Return the device that ``KIND``, ``KIND:DEVICE``, ``auto`` or ``off`` asks for, or None.

    None also where it cannot be opened: cameras are decoded by the processor then.
    """
    if setting == OFF:
        return None
    kind, _, name = setting.partition(":")
    wanted = [VideoDevice(each) for each in hwdevices_available()]
    if setting != AUTO:
        wanted = [VideoDevice(kind, name)]
    return next((device for device in wanted if device.opens()), None)


class DecodingChoice:
    """What decodes one camera: a device while that works, then the processor. One thread's."""

    def __init__(self, device: VideoDevice | None) -> None:
        self._device = device

    def next(self) -> VideoDevice | None:
        """Return the device for the next connection; None: the processor."""
        if self._device is not None and not self._device.opens():
            self.gave_up()
        return self._device

    def gave_up(self) -> None:
        """Decode by the processor from here on: the device is gone or spoils this stream."""
        if self._device is not None:
            log.warning("video_device_given_up", kind=self._device.kind)
        self._device = None


def decoder_of(frame: "av.VideoFrame", device: VideoDevice | None) -> str:
    """Return what decoded a frame: the device's kind, or :data:`SOFTWARE`."""
    is_downloaded = frame.format.name in _DOWNLOADED_FORMATS
    return device.kind if device is not None and is_downloaded else SOFTWARE
