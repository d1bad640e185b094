"""FFmpeg's library as a whole: what it writes into its log and how much memory it may ask for."""

import ctypes
from typing import Final

import av._core
import av.logging

MAX_ALLOCATION_BYTES: Final = 128 * 1024 * 1024
"""The largest allowed picture takes 121 MB as BGR. What a file's header promises can take any
amount: an MP4 of 100 kB that tells of 20 million pictures took 700 MiB, an RTSP answer that tells
of a long body its length."""


def tame() -> None:
    """Bound each allocation of FFmpeg in this process, and keep its log to ourselves.

    **Source:** ``av_max_alloc`` in libavutil/mem.h, which PyAV does not pass on.
    """
    # FFmpeg writes whole addresses into its log, passwords included.
    av.logging.set_level(av.logging.PANIC)
    # Its own libraries are found through PyAV's, whatever they are called on this system.
    limit = ctypes.CDLL(av._core.__file__).av_max_alloc
    limit.argtypes, limit.restype = [ctypes.c_size_t], None
    limit(MAX_ALLOCATION_BYTES)
