"""From a message that can never be handled to its dead letter. Pure."""

from dataclasses import dataclass

from contracts.errors import InvalidInputError
from contracts.records import DeadLetter, encode

UNEXPECTED = "unexpected_error"
"""Code of a message whose handler failed in a way that nobody foresaw."""

_REASON_CHARACTERS = 1000


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a message came from, and the message itself."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


def dead_letter(
    stage: str, source: Source, error: Exception, *, at_ms: int, max_bytes: int
) -> bytes:
    """Return the encoded dead letter, at most ``max_bytes`` long.

    A value that does not fit (JSON carries bytes as base64, a third larger) is left out: topic,
    partition and offset still say where it lies.
    """
    letter = DeadLetter(
        stage=stage,
        topic=source.topic,
        partition=source.partition,
        offset=source.offset,
        code=error.code if isinstance(error, InvalidInputError) else UNEXPECTED,
        reason=_reason(error),
        at_ms=at_ms,
        key=source.key,
        value=source.value,
    )
    data = encode(letter)
    if len(data) <= max_bytes:
        return data
    return encode(_without_value(letter))


def _reason(error: Exception) -> str:
    text = str(error) if isinstance(error, InvalidInputError) else repr(error)
    return text[:_REASON_CHARACTERS]


def _without_value(letter: DeadLetter) -> DeadLetter:
    size = len(letter.value or b"")
    return DeadLetter(
        stage=letter.stage,
        topic=letter.topic,
        partition=letter.partition,
        offset=letter.offset,
        code=letter.code,
        reason=f"{letter.reason} (value of {size} bytes left out: too large)",
        at_ms=letter.at_ms,
        key=letter.key,
    )
