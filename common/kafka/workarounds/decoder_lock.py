"""Keeps threads from compiling a response's decoder together (kafka-python 3.0.12).

kafka-python 3.0 writes the function that decodes a kind of response when the first such response
comes, and meanwhile puts another class into that response's description, which all threads share.
Two threads that do so together can leave a function behind that fails for as long as the process
lives (``object.__new__(X): X is not a type object``): none of its consumers reads anything more.
Seen where an API process began to follow three topics, in one of some thirty starts.

**Source:** kafka-python 3.0.12, ``kafka/protocol/schemas/fields/struct.py``.
"""

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

from kafka.protocol.schemas.fields.struct import StructField

_ONE_AT_A_TIME = threading.RLock()


def lock_decoders() -> None:
    """Have responses' decoders written by one thread at a time; a second call changes nothing."""
    original: Callable[..., Any] = StructField.compiled_decode_from
    if hasattr(original, "__wrapped__"):
        return

    @wraps(original)
    def guarded(*arguments: Any, **options: Any) -> Any:
        with _ONE_AT_A_TIME:
            return original(*arguments, **options)

    StructField.compiled_decode_from = guarded
