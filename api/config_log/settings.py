"""Settings of the relay."""

from pydantic import Field

from contracts.settings import DatabaseSettings, KafkaSettings, ProcessSettings


class RelaySettings(ProcessSettings, DatabaseSettings, KafkaSettings):
    """What the relay process needs."""

    relay_poll_seconds: float = Field(
        1.0,
        gt=0,
        le=60,
        description="How often the relay looks for outbox rows that no notification announced.",
    )
    relay_batch_rows: int = Field(
        500, ge=1, le=10_000, description="Outbox rows that the relay publishes at a time."
    )
