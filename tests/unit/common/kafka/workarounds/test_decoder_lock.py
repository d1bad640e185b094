"""Decoders of kafka-python that two threads request at the same time."""

import threading
from typing import Any

import pytest
from kafka.protocol.consumer import FetchResponse

import common.kafka.clients  # noqa: F401  # guards them

_VERSION = 12
_SECONDS = 10.0


def test_two_threads_at_once_get_a_decoder_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    struct = FetchResponse._struct
    struct._compiled_encoders.clear()
    write = struct.emit_decode_from
    second_begins, first_is_done = threading.Event(), threading.Event()

    def write_interrupted(*arguments: Any, **options: Any) -> Any:
        if threading.current_thread().name == "second":
            second_begins.set()
            assert first_is_done.wait(_SECONDS)
        elif not first_is_done.is_set():
            # With the lock, the second thread waits for the first, so this wait times out.
            second_begins.wait(0.5)
        return write(*arguments, **options)

    monkeypatch.setattr(struct, "emit_decode_from", write_interrupted)
    empty = bytes(FetchResponse(version=_VERSION).encode(version=_VERSION))
    failures: list[Exception] = []

    def decode() -> None:
        try:
            FetchResponse.decode(empty, version=_VERSION)
        except TypeError as error:
            failures.append(error)

    first = threading.Thread(target=decode)
    second = threading.Thread(target=decode, name="second")
    first.start()
    second.start()
    first.join(_SECONDS)
    first_is_done.set()
    second.join(_SECONDS)
    decode()
    assert not failures
