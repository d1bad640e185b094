"""Settings of the alerts stage."""

from pydantic import Field

from common.settings import Port
from streams.runtime.settings import EarlyAlertSettings, StreamSettings


class AlertSettings(StreamSettings, EarlyAlertSettings):
    """Settings of one worker of the alerts stage."""

    alerts_metrics_port: Port = Field(
        0, description="Port of the alerts stage's /metrics and /healthz; 0: none."
    )
