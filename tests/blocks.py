"""Threads and servers that run for the length of a ``with`` block."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class RunsForABlock(ABC):
    """Starts when the block is entered, and stops when the block is left, even by an exception."""

    @abstractmethod
    def _begin(self) -> None:
        """Start, and return once the server or thread is running."""

    @abstractmethod
    def _end(self, error: BaseException | None) -> None:
        """Stop, and return once nothing is running. ``error`` is the block's exception, if any.

        Raises:
            AssertionError: the thread or server failed although the block did not.
        """

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end(error)
