"""How a stage's process ends when it must not acknowledge."""

import os
from typing import NoReturn


def end_process(status: int) -> NoReturn:
    """End the process at once: no handlers, no acknowledgement."""
    os._exit(status)
