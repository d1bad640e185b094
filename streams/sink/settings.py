"""Settings of the sink."""

from common.settings import ClickHouseSettings
from streams.runtime.settings import StreamSettings


class SinkSettings(StreamSettings, ClickHouseSettings):
    """Settings of one sink worker."""
