"""Settings of the alerts stage."""

from streams.runtime.settings import EarlyAlertSettings, StreamSettings


class AlertSettings(StreamSettings, EarlyAlertSettings):
    """Settings of one worker of the alerts stage."""
