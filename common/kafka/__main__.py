"""``python -m common.kafka``: creates missing topics."""

from typing import NoReturn

import structlog
from kafka.errors import KafkaError

from common.errors import (
    EXIT_MISCONFIGURED,
    EXIT_TEMPORARY_FAILURE,
    MisconfiguredError,
    TransientError,
)
from common.kafka.clients import create_topics
from common.logs import configure_logging
from common.settings import KafkaSettings, ProcessSettings, load_settings

log = structlog.get_logger()


class _TopicSettings(KafkaSettings, ProcessSettings):
    pass


def main() -> None:
    """Run the command line."""
    settings = load_settings(_TopicSettings)
    configure_logging(settings)
    try:
        log.info("topics_created", topics=create_topics(settings))
    except MisconfiguredError as error:
        _end(error, EXIT_MISCONFIGURED)
    except (TransientError, KafkaError) as error:
        _end(error, EXIT_TEMPORARY_FAILURE)


def _end(error: Exception, status: int) -> NoReturn:
    log.error("topic_creation_failed", error=str(error))
    raise SystemExit(status) from error


if __name__ == "__main__":
    main()
