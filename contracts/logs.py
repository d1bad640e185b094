"""Logs: an event name that never changes, plus fields."""

import logging
import sys

import structlog

from contracts.log_limits import HELD_BACK, RepeatLimit
from contracts.settings import LogFormat, ProcessSettings

_OUR_ROOMS = (
    "__main__",
    "analytics_sql",
    "api",
    "contracts",
    "deploy",
    "ingest",
    "recognition",
    "streams",
)
_LIBRARY_REPEAT_SECONDS = 30.0
"""How often a library may say the same. aiokafka says it several times a second, for each broker
and partition, for as long as a broker is away."""


def configure_logging(settings: ProcessSettings) -> None:
    """Send structlog's and the standard library's records to standard error, in one format."""
    level = getattr(logging, settings.log_level.upper())
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
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
    handler.addFilter(RepeatLimit(_LIBRARY_REPEAT_SECONDS, exempt=_OUR_ROOMS))
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder({HELD_BACK})],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # Libraries talk a lot at info; their warnings are ours to read.
    root.setLevel(max(level, logging.WARNING))
    for room in _OUR_ROOMS:
        logging.getLogger(room).setLevel(level)
