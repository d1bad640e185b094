"""How a stage's process ends when it must not acknowledge."""

import os
from typing import Final, NoReturn

EXIT_TEMPORARY_FAILURE: Final = 75
"""Exit status of a process that ended without acknowledging: EX_TEMPFAIL of sysexits.h."""


def end_process(status: int) -> NoReturn:
    """End the process at once: no handlers, no acknowledgement."""
    os._exit(status)
