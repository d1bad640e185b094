"""Settings of the alerts stage."""

from pydantic import Field

from common.settings import Port
from streams.runtime.settings import EarlyAlertSettings, StreamSettings


class AlertSettings(StreamSettings, EarlyAlertSettings):
    """Settings of one worker of the alerts stage."""

    alert_late_seconds: float = Field(
        120.0,
        gt=0,
        description="An alert that triggers so long after the capture of its plate is late: "
        "the vehicle is surely gone.",
    )
    alert_batch_size: int = Field(
        200,
        ge=1,
        le=5000,
        description="Maximum recognitions in a batch that is matched with the rules.",
    )
    alert_batch_wait_seconds: float = Field(
        0.01,
        gt=0,
        le=1,
        description="How long recognitions are gathered before they are matched with the rules; "
        "every alert is later by it.",
    )
    alert_cooldowns: int = Field(
        100_000,
        ge=100,
        description="Maximum cooldowns (alert, or alert and plate) that are kept of one "
        "partition; past it the oldest are forgotten early.",
    )
    alerts_metrics_port: Port = Field(
        0, description="Port of the alerts stage's /metrics and /healthz; 0: none."
    )
