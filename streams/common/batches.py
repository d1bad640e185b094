"""From the messages of a batch to what they hold. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from contracts.errors import InvalidInputError

M = TypeVar("M")
R = TypeVar("R")


@dataclass(frozen=True)
class Batch(Generic[M, R]):
    """Messages with what they hold, and those that can never be read with the reason."""

    read: dict[M, R]
    refused: tuple[tuple[M, InvalidInputError], ...]


def read_batch(
    messages: Iterable[tuple[M, bytes | None]], read: Callable[[bytes], R]
) -> Batch[M, R]:
    """Return what the messages hold, given each with its value.

    ``read`` raises InvalidInputError for what can never be read.
    """
    found: dict[M, R] = {}
    refused: list[tuple[M, InvalidInputError]] = []
    for message, value in messages:
        try:
            found[message] = read(value or b"")
        except InvalidInputError as error:
            refused.append((message, error))
    return Batch(found, tuple(refused))
