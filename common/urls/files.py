"""Checks video files that are used as cameras: only files in the configured folder are allowed."""

from pathlib import Path
from typing import Final

from common.errors import InvalidInputError

_HEAD_BYTES: Final = 512
_SIGNATURES: Final = (
    # ISO base media (MP4, MOV): the type of the first box.
    *((4, kind) for kind in (b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot")),
    (0, b"\x1a\x45\xdf\xa3"),  # Matroska, WebM
    (8, b"AVI "),
    (0, b"FLV"),
    (0, b"OggS"),
    (0, b"\x00\x00\x01\xba"),  # MPEG program stream
)
_TS_SYNC: Final = 0x47
_TS_PACKETS: Final = ((0, 188, 376), (4, 196, 388))
"""Offsets of the first three packets' sync bytes in an MPEG transport stream, plain and M2TS."""


def video_file(path: str, folder: Path | None) -> Path:
    """Return the real path of a video file in the camera files folder.

    Only containers are allowed, because FFmpeg finds raw streams, such as a run of JPEG images, in
    any file that contains images, including files of other accounts.

    Raises:
        InvalidInputError: the file is not allowed (code ``stream_url_file``). The message is always
            the same, so that it does not reveal other files on the machine.
    """
    try:
        real = Path(path).resolve(strict=True)
        inside = folder is not None and real.is_relative_to(folder.resolve(strict=True))
        if inside and real.is_file() and _is_container(real):
            return real
    except (OSError, ValueError, RuntimeError):
        pass
    raise InvalidInputError(
        "No such video file in the camera files folder. Supported: MP4, MOV, Matroska, AVI, "
        "MPEG, FLV, Ogg.",
        code="stream_url_file",
    )


def _is_container(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return any(head.startswith(signature, at) for at, signature in _SIGNATURES) or any(
        len(head) > places[-1] and all(head[place] == _TS_SYNC for place in places)
        for places in _TS_PACKETS
    )
