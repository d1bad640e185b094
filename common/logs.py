"""Configures logging. A log line has a constant event name and fields."""

import logging
import math
import re
import sys
import time
from collections.abc import Callable, Collection
from threading import Lock
from typing import Final

import structlog
from cachetools import LRUCache
from opentelemetry.trace import format_span_id, format_trace_id, get_current_span

from common.settings import LogFormat, ProcessSettings

SUPPRESSED = "suppressed"
"""Log record attribute: the number of similar records that were suppressed before this one."""

_MAX_KINDS = 512
_VARYING = re.compile(r"0x[0-9a-fA-F]+|\d+")


class RepeatLimit(logging.Filter):
    """Passes at most one record of each kind every ``seconds`` seconds. Adds the number suppressed.

    A kind consists of a logger, a level, a message before arguments are inserted, and the type and
    origin of the exception. Numbers in the message are ignored, because many libraries insert
    numbers themselves. Loggers of ``exempt`` packages are never limited. Thread-safe.
    """

    def __init__(
        self,
        seconds: float,
        *,
        exempt: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._seconds = seconds
        self._exempt = frozenset(exempt)
        self._clock = clock
        self._lock = Lock()
        # The time at which a record of a kind last passed, and the number suppressed since then.
        self._known: LRUCache[tuple[object, ...], tuple[float, int]] = LRUCache(_MAX_KINDS)

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write the record. May set :data:`SUPPRESSED` on the record."""
        if record.name.partition(".")[0] in self._exempt:
            return True
        kind = (record.name, record.levelno, _VARYING.sub("#", str(record.msg)), _error(record))
        with self._lock:
            now_seconds = self._clock()
            at_seconds, suppressed = self._known.get(kind, (-math.inf, 0))
            if now_seconds - at_seconds < self._seconds:
                self._known[kind] = at_seconds, suppressed + 1
                return False
            self._known[kind] = now_seconds, 0
        if suppressed:
            setattr(record, SUPPRESSED, suppressed)
        return True


_TRY_AGAIN: Final = ("aiokafka", "kafka")
_KEEPALIVE: Final = "keepalive is not responding"


def _soften(record: logging.LogRecord) -> bool:
    """Downgrade errors after which a library retries forever to warnings. Pass all records.

    If Kafka's clients do not recover, our own packages log an error. The ``mode`` library logs an
    error if a thread had no CPU for three seconds, but a stalled thread ends its process anyway.
    """
    is_client = record.name.partition(".")[0] in _TRY_AGAIN
    if record.levelno == logging.ERROR and (is_client or _KEEPALIVE in str(record.msg)):
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
    return True


def _error(record: logging.LogRecord) -> str:
    if not record.exc_info or record.exc_info[0] is None:
        return ""
    kind, _, trace = record.exc_info
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{kind.__name__} in line {trace.tb_lineno if trace else None}"


_OUR_ROOMS = (
    "__main__", "analytics_sql", "api", "common", "deploy", "ingest", "recognition", "streams",
)  # fmt: skip
_LIBRARY_REPEAT_SECONDS = 30.0
"""Minimum interval between equal messages of a library. While a broker is unavailable, aiokafka
repeats messages several times per second, for each broker and partition."""


def add_trace_ids(
    _logger: structlog.types.WrappedLogger, _method: str, event: structlog.types.EventDict
) -> structlog.types.EventDict:
    """Add the IDs of the current span, if any."""
    span = get_current_span().get_span_context()
    if span.is_valid:
        event.setdefault("trace_id", format_trace_id(span.trace_id))
        event.setdefault("span_id", format_span_id(span.span_id))
    return event


def configure_logging(settings: ProcessSettings) -> None:
    """Send records of structlog and the standard library to standard error, in one format."""
    level = getattr(logging, settings.log_level.upper())
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        add_trace_ids,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    if settings.log_format is LogFormat.JSON:
        renderer: structlog.types.Processor = structlog.processors.JSONRenderer()
    else:
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_soften)
    handler.addFilter(RepeatLimit(_LIBRARY_REPEAT_SECONDS, exempt=_OUR_ROOMS))
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder({SUPPRESSED})],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # Libraries are verbose at level info, but their warnings matter.
    root.setLevel(max(level, logging.WARNING))
    for room in _OUR_ROOMS:
        logging.getLogger(room).setLevel(level)
