"""With what status a process ends, so that whoever started it knows what to do.

**Source:** sysexits.h of BSD.
"""

from typing import Final

EXIT_UNAVAILABLE: Final = 69
"""A neighbour cannot be reached (EX_UNAVAILABLE)."""

EXIT_SOFTWARE: Final = 70
"""The process failed by itself (EX_SOFTWARE)."""

EXIT_TEMPORARY_FAILURE: Final = 75
"""Started again it may succeed; nothing was acknowledged before its time (EX_TEMPFAIL)."""

EXIT_MISCONFIGURED: Final = 78
"""The operator's settings or files cannot work (EX_CONFIG)."""
