"""The spans of the relay's messages end with the outcome of the message."""

from typing import Any

import pytest
from kafka.errors import KafkaTimeoutError, MessageSizeTooLargeError
from kafka.future import Future

from api.outbox import publisher as module
from api.outbox.outbox import with_trace
from api.outbox.publisher import KafkaPublisher, OutboxRow
from common.errors import TransientError
from common.settings import KafkaSettings
from tests.recorded_spans import SOME_TRACE, recorded_spans


class _Acknowledgement(Future):  # type: ignore[misc]
    def get(self, timeout: float) -> None:
        assert timeout > 0
        if self.exception is not None:
            raise self.exception


class FakeProducer:
    """Accepts a message, rejects a message, or reports later that a message failed."""

    def __init__(self, refusal: Exception | None, failure: Exception | None) -> None:
        self._refusal = refusal
        self._failure = failure
        self._futures: list[_Acknowledgement] = []
        self.headers: list[Any] = []

    def send(self, _topic: str, *, key: bytes, value: bytes | None, headers: list[Any]) -> Future:
        assert (key, value) == (b"key", b'{"version":1}')
        self.headers += headers
        if self._refusal is not None:
            raise self._refusal
        self._futures.append(_Acknowledgement())
        return self._futures[-1]

    def flush(self, timeout: float) -> None:
        """Report the outcome of all messages."""
        assert timeout > 0
        for future in self._futures:
            if self._failure is None:
                future.success(None)
            else:
                future.failure(self._failure)


@pytest.mark.parametrize(
    ("refusal", "failure", "error"),
    [
        (None, None, ""),
        (None, KafkaTimeoutError("late"), "KafkaTimeoutError"),
        (KafkaTimeoutError("no metadata"), None, "KafkaTimeoutError"),
        (MessageSizeTooLargeError("ABC1234"), None, "MessageSizeTooLargeError"),
    ],
)
def test_a_span_ends_with_the_outcome_of_its_message(
    refusal: Exception | None,
    failure: Exception | None,
    error: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    producer = FakeProducer(refusal, failure)
    monkeypatch.setattr(module, "open_producer", lambda *_, **__: producer)
    row = OutboxRow(1, "config-cameras", "key", with_trace(b'{"version":1}', SOME_TRACE))
    with recorded_spans() as tracer:
        publisher = KafkaPublisher(KafkaSettings.model_validate({}))
        if error == "KafkaTimeoutError":
            with pytest.raises(TransientError):
                publisher.publish([row])
        else:
            assert publisher.publish([row]).keys() == ({1} if error else set())

    (span,) = tracer.spans
    assert (span.ends, span.error) == (1, error)
    assert span.parent == SOME_TRACE
    assert producer.headers == [("traceparent", span.context.traceparent.encode())]
    assert "ABC1234" not in repr(tracer.spans)
