"""Settings of the alerts stage."""

from pydantic import Field

from contracts.settings import Port
from streams.common.settings import EarlyAlertSettings, StreamSettings


class AlertSettings(StreamSettings, EarlyAlertSettings):
    """Settings of one worker of the alerts stage."""

    alert_late_seconds: float = Field(
        120.0,
        gt=0,
        description="An alert that fires so long after its plate was captured is marked as late: "
        "the vehicle is surely gone.",
    )
    alert_batch_size: int = Field(
        200, ge=1, le=5000, description="Most recognitions that are held against the rules at once."
    )
    alert_batch_wait_seconds: float = Field(
        0.01,
        gt=0,
        le=1,
        description="How long recognitions are gathered before they are held against the rules; "
        "every alert is later by it.",
    )
    alert_cooldowns: int = Field(
        100_000,
        ge=100,
        description="Most cooldowns (alert, or alert and plate) that are remembered of one "
        "partition; past it the oldest are forgotten early.",
    )
    alerts_metrics_port: Port = Field(
        0, description="Local port of the alerts stage's Prometheus metrics; 0: none."
    )
