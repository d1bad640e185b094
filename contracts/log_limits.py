"""Keeps a library from filling the log with one sentence."""

import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from threading import Lock
from types import TracebackType
from typing import NamedTuple

HELD_BACK = "held_back"
"""Attribute of a record that is let through after like ones were not: how many those were."""

_MOST_KINDS = 512
_VARYING = re.compile(r"0x[0-9a-fA-F]+|\d+")


class _Kind(NamedTuple):
    """Records that say the same, whatever they say it of."""

    logger: str
    level: int
    template: str
    error: str


class _Told:
    """When a kind was let through last, and how many have been held back since."""

    def __init__(self, at_seconds: float) -> None:
        self.at_seconds = at_seconds
        self.held_back = 0


class RepeatLimit(logging.Filter):
    """Lets one record of a kind through in ``seconds``; the next one says how many were not.

    A kind is a logger, a level, a message before its arguments are put in, and the type and origin
    of the exception that comes with it. Numbers in the message do not count, as many libraries put
    them in themselves. Loggers of ``exempt`` packages are let through always. Thread-safe.
    """

    def __init__(
        self,
        seconds: float,
        *,
        exempt: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the length of the silence and the packages that are never limited."""
        super().__init__()
        self._seconds = seconds
        self._exempt = frozenset(exempt)
        self._clock = clock
        self._lock = Lock()
        self._told: OrderedDict[_Kind, _Told] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record is to be written; may set :data:`HELD_BACK` on it."""
        if record.name.partition(".")[0] in self._exempt:
            return True
        with self._lock:
            held_back = self._let_through(_kind(record))
        if held_back:
            setattr(record, HELD_BACK, held_back)
        return held_back is not None

    def _let_through(self, kind: _Kind) -> int | None:
        """Return how many were held back before a record that may go, None for one that may not."""
        now_seconds = self._clock()
        told = self._told.get(kind)
        if told is not None and now_seconds - told.at_seconds < self._seconds:
            told.held_back += 1
            return None
        self._told[kind] = _Told(now_seconds)
        self._told.move_to_end(kind)
        if len(self._told) > _MOST_KINDS:
            self._told.popitem(last=False)
        return told.held_back if told is not None else 0


def _kind(record: logging.LogRecord) -> _Kind:
    template = _VARYING.sub("#", str(record.msg))
    return _Kind(record.name, record.levelno, template, _error(record))


def _error(record: logging.LogRecord) -> str:
    if not record.exc_info or record.exc_info[0] is None:
        return ""
    kind, _, trace = record.exc_info
    return f"{kind.__name__} in line {_last_line(trace)}"


def _last_line(trace: TracebackType | None) -> int | None:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_lineno if trace is not None else None
