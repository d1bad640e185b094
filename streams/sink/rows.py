"""From messages of a topic to rows. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from contracts.errors import InvalidInputError

M = TypeVar("M")
R = TypeVar("R")


@dataclass(frozen=True)
class Batch(Generic[M, R]):
    """Messages with their rows, and those that can never be one with the reason."""

    rows: dict[M, R]
    refused: tuple[tuple[M, InvalidInputError], ...]


def read_batch(
    messages: Iterable[tuple[M, bytes | None]], row_of: Callable[[bytes], R]
) -> Batch[M, R]:
    """Return the rows of the messages, given each message with its value."""
    rows: dict[M, R] = {}
    refused: list[tuple[M, InvalidInputError]] = []
    for message, value in messages:
        try:
            rows[message] = row_of(value or b"")
        except InvalidInputError as error:
            refused.append((message, error))
    return Batch(rows, tuple(refused))
