"""Threads and servers that run for the length of a ``with`` block."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class RunsForABlock(ABC):
    """Begun when the block is entered, ended when it is left, however that is."""

    @abstractmethod
    def _begin(self) -> None:
        """Begin; returns when it runs."""

    @abstractmethod
    def _end(self, error: BaseException | None) -> None:
        """End; returns when nothing runs any more. ``error`` is what the block raised, if it did.

        Raises:
            AssertionError: what ran went wrong, and the block did not.
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
