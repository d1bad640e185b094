"""Tells whether a JPEG file is whole without decoding it."""

_MARKER = 0xFF
_END_OF_IMAGE = 0xD9
_RESTARTS = range(0xD0, 0xD8)
_WITHOUT_LENGTH = (0x01, 0xD8, *_RESTARTS)


def is_whole_jpeg(data: bytes) -> bool:
    """Return whether the file's markers lead from its start to an end-of-image marker.

    Decoders fill the missing part of a cut-off JPEG with grey and only warn; a thumbnail inside
    the header has an end marker of its own, so a search for the last one is not enough.

    **Source:** ITU-T T.81, annex B.
    """
    at = 2
    while (at := _next_marker(data, at)) >= 0:
        kind = data[at]
        at += 1
        if kind == _END_OF_IMAGE:
            return True
        if kind not in _WITHOUT_LENGTH:
            at += int.from_bytes(data[at : at + 2], "big")
    return False


def _next_marker(data: bytes, at: int) -> int:
    """Return the index of the next marker's second byte, or -1 at the end of the data.

    Skips compressed data, in which 0xFF is followed by a zero.
    """
    while (at := data.find(_MARKER, at)) >= 0:
        at += 1
        if at < len(data) and data[at] not in (0x00, _MARKER):
            return at
    return -1
