"""Tells what a JPEG file is made of without decoding it."""

import re

_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")
"""Not within compressed data, where 0xFF is followed by a zero or a restart."""

_END_OF_IMAGE, _START_OF_SCAN = 0xD9, 0xDA
_WITHOUT_LENGTH = (0x01, 0xD8)


def scans_of_jpeg(data: bytes) -> int | None:
    """Return how often the file goes over its pixels, None where it ends too early.

    It is whole where its markers lead from its start to an end-of-image marker.

    Decoders fill the missing part of a cut-off JPEG with grey and only warn; a thumbnail inside
    the header has an end marker of its own, so a search for the last one is not enough.

    **Source:** ITU-T T.81, annex B.
    """
    at, scans = 2, 0
    while marker := _MARKER.search(data, at):
        at = marker.end()
        kind = data[at - 1]
        if kind == _END_OF_IMAGE:
            return scans
        scans += kind == _START_OF_SCAN
        if kind not in _WITHOUT_LENGTH:
            at += int.from_bytes(data[at : at + 2], "big")
    return None
