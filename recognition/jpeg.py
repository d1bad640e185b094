"""Tells whether a JPEG file is whole without decoding it."""

import re

_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")
"""Not within compressed data, where 0xFF is followed by a zero or a restart."""

_END_OF_IMAGE = 0xD9
_WITHOUT_LENGTH = (0x01, 0xD8)


def is_whole_jpeg(data: bytes) -> bool:
    """Return whether the file's markers lead from its start to an end-of-image marker.

    Decoders fill the missing part of a cut-off JPEG with grey and only warn; a thumbnail inside
    the header has an end marker of its own, so a search for the last one is not enough.

    **Source:** ITU-T T.81, annex B.
    """
    at = 2
    while marker := _MARKER.search(data, at):
        at = marker.end()
        kind = data[at - 1]
        if kind == _END_OF_IMAGE:
            return True
        if kind not in _WITHOUT_LENGTH:
            at += int.from_bytes(data[at : at + 2], "big")
    return False
