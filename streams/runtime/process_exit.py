"""Exits the process of a stage without acknowledging any message.

This is a separate module because the consumer, the stage runner and the worker all need it and
import each other.
"""

import os
from typing import NoReturn


def end_process(status: int) -> NoReturn:
    """Exit immediately, without running exit handlers and without an acknowledgement."""
    os._exit(status)
