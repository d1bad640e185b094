"""From messages of the recognitions topic to rows. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from analytics_sql.recognitions import RecognitionRow, recognition_row
from contracts.errors import InvalidInputError
from contracts.records import Recognition, decode

M = TypeVar("M")


@dataclass(frozen=True)
class Batch(Generic[M]):
    """Messages with their rows, and those that can never be one with the reason."""

    rows: dict[M, RecognitionRow]
    refused: tuple[tuple[M, InvalidInputError], ...]


def read_batch(messages: Iterable[tuple[M, bytes | None]]) -> Batch[M]:
    """Return the rows of the messages, given each message with its value."""
    rows: dict[M, RecognitionRow] = {}
    refused: list[tuple[M, InvalidInputError]] = []
    for message, value in messages:
        try:
            rows[message] = recognition_row(decode(Recognition, value or b""))
        except InvalidInputError as error:
            refused.append((message, error))
    return Batch(rows, tuple(refused))
