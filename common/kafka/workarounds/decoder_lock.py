"""Prevents threads from compiling a response decoder concurrently (kafka-python 3.0.12).

kafka-python 3.0 generates the function that decodes a response type when the first such response
arrives, and meanwhile replaces a class in that type's description, which all threads share. Two
threads that do so concurrently can leave a function that fails for the rest of the process
(``object.__new__(X): X is not a type object``), so that no consumer can read any more. This was
observed in one of about thirty starts of an API process, which follows three topics. **Source:**
kafka-python 3.0.12, ``kafka/protocol/schemas/fields/struct.py``.
"""

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

from kafka.protocol.schemas.fields.struct import StructField

_ONE_AT_A_TIME = threading.RLock()


def lock_decoders() -> None:
    """Make threads compile decoders one at a time. Idempotent."""
    original: Callable[..., Any] = StructField.compiled_decode_from
    if hasattr(original, "__wrapped__"):
        return

    @wraps(original)
    def guarded(*arguments: Any, **options: Any) -> Any:
        with _ONE_AT_A_TIME:
            return original(*arguments, **options)

    StructField.compiled_decode_from = guarded
