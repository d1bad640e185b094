"""Capture errors, in words that help a camera's owner and give an attacker nothing."""

from enum import Enum

from common.errors import TransientError


class CaptureErrorCode(Enum):
    """Reasons why a camera gives no frames; the value is the sentence its owner reads.

    A host that is not there, a closed port and one that never answers share a sentence, so that
    camera addresses cannot be used to map a network.
    """

    UNREACHABLE = "The camera could not be reached."
    CERTIFICATE = "The camera's certificate could not be verified."
    CREDENTIALS = "The camera refused the user name or the password."
    NO_STREAM = "The camera has no stream under this path."
    NOT_VIDEO = "The address answered, but not with a video stream."
    UNDECODABLE = "The camera's video could not be decoded."
    TOO_LARGE = "The camera's pictures are larger than 40 megapixels or 10,000 pixels a side."
    TOO_MUCH = "The camera sends too much data without a picture."
    SILENT = "The camera sends no pictures."
    ENDED = "The camera ended the stream."
    FORBIDDEN = "The stream address points to a network where cameras are not allowed."
    NO_FILE = "There is no such video file in the folder of camera files."
    SECRET_KEY = "The stream address was encrypted with another secret key."
    CRASH = "The camera's stream crashes its reader; it is tried again after growing pauses."
    INTERNAL = "The stream could not be read."


class CaptureError(TransientError):
    """A connection to a camera failed or ended. Its message never holds the address."""

    def __init__(self, code: CaptureErrorCode) -> None:
        super().__init__(code.value)
        self.code = code
