"""Capture errors, whose messages help a camera's owner but reveal nothing to an attacker."""

from enum import Enum

from common.errors import TransientError


class CaptureErrorCode(Enum):
    """Reasons why a camera sends no frames. The value is the message that the camera's owner sees.

    A missing host, a closed port and an unresponsive port have the same message, so that stream
    URLs cannot be used to map a network.
    """

    UNREACHABLE = "The camera could not be reached."
    CERTIFICATE = "The camera's certificate could not be verified."
    CREDENTIALS = "The camera rejected the user name or password."
    NO_STREAM = "The camera has no stream at this path."
    NOT_VIDEO = "The URL responded, but not with a video stream."
    UNDECODABLE = "The camera's video could not be decoded."
    TOO_LARGE = "The camera's frames exceed 40 megapixels or 10,000 pixels per side."
    TOO_MUCH = "The camera sent too much data without a complete frame."
    SILENT = "The camera sends no frames."
    ENDED = "The camera ended the stream."
    FORBIDDEN = "The stream URL points to a network in which cameras are not allowed."
    NO_FILE = "No such video file in the camera files folder."
    SECRET_KEY = "The stream URL was encrypted with a different secret key."
    CRASH = "The camera's stream crashes the decoder. It is retried at increasing intervals."
    NOT_ONVIF = "The device returned no ONVIF video streams."
    INTERNAL = "The stream could not be read."


class CaptureError(TransientError):
    """A connection to a camera failed or ended. The message never contains the stream URL."""

    def __init__(self, code: CaptureErrorCode) -> None:
        super().__init__(code.value)
        self.code = code
