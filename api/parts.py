"""The parts that the service is made of, as its clients are told of them."""

from enum import StrEnum

from contracts.errors import TransientError

NO_ANSWER = "does not answer"


class Part(StrEnum):
    """What a call may need, in words for those who use the service and those who run it."""

    CONFIGURATION = "configuration database"
    """PostgreSQL: accounts, keys, cameras, alerts, webhooks, credits."""

    SEARCH = "search database"
    """ClickHouse: recognitions, counts, alerts that fired, deliveries."""

    PICTURES = "picture store"
    """S3."""

    BROKER = "message broker"
    """Kafka."""


class PartAwayError(TransientError):
    """A part is away, or too slow: the sentence names it and nothing of where or why.

    Why stands in ``__cause__``, which is for the log.
    """

    def __init__(self, part: Part, trouble: str = NO_ANSWER) -> None:
        """``trouble`` goes on after the part's name."""
        super().__init__(f"the {part} {trouble}")
        self.sentence = f"The {part} {trouble}; try again later."
