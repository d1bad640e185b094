"""Capture errors, whose messages help a camera's owner but reveal nothing to an attacker."""

from enum import Enum
from typing import Final

from common.errors import TransientError


class CaptureErrorCode(Enum):
    """Reasons why a camera sends no frames. The value is the reason and the remedy, for the owner.

    A missing host, a closed port and an unresponsive port have the same message, so that stream
    URLs cannot be used to map a network.
    """

    UNREACHABLE = "The camera could not be reached. Check its power, network and address."
    CERTIFICATE = "The camera's certificate could not be verified. Check the host name and CA file."
    CREDENTIALS = "The camera rejected the user name or password. Correct them."
    NO_STREAM = "The camera has no stream at this path. Look up the path in its manual."
    BUSY = "The camera accepts no further connections. Close other viewers, or restart it."
    TRANSPORT = "No video arrives over TCP or UDP. Enable TCP in the camera, or UDP in firewalls."
    NOT_VIDEO = "The URL responded, but not with a video stream. Check the path."
    UNDECODABLE = "The camera's video could not be decoded. Set its codec to H.264."
    TOO_LARGE = "Frames exceed 40 megapixels or 10,000 pixels per side. Lower the resolution."
    TOO_MUCH = "The camera sent too much data without a complete frame. Set its codec to H.264."
    SILENT = "The camera sends no frames. Restart it, and check the settings of the stream."
    ENDED = "The camera ended the stream. Close other viewers, or restart it."
    FORBIDDEN = "The network of the stream URL is not allowed. Ask your server administrator."
    NO_FILE = "No such video file in the camera files folder. Check its name and type."
    SECRET_KEY = "The stream URL was encrypted with a different secret key. Enter the URL again."
    CRASH = "The camera's stream crashes the decoder. Use another codec or stream."
    NOT_ONVIF = "The device returned no ONVIF video streams. Enable ONVIF in its settings."
    INTERNAL = "The stream could not be read. If this continues, check the log of ingest."


_REFUSALS: Final = {
    401: CaptureErrorCode.CREDENTIALS,
    403: CaptureErrorCode.CREDENTIALS,
    453: CaptureErrorCode.BUSY,
    461: CaptureErrorCode.TRANSPORT,
    503: CaptureErrorCode.BUSY,
}
"""**Source:** RFC 9110, section 15; RFC 2326, section 7.1.1."""


def refusal(status: int) -> CaptureErrorCode:
    """Return the reason for an HTTP or RTSP status of 400 or more."""
    return _REFUSALS.get(status, CaptureErrorCode.NO_STREAM)


class CaptureError(TransientError):
    """A connection to a camera failed or ended. The message never contains the stream URL."""

    def __init__(self, code: CaptureErrorCode) -> None:
        super().__init__(code.value)
        self.code = code
