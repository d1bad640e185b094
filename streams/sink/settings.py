"""Settings of the sink."""

from pydantic import Field

from common.settings import ClickHouseSettings, Port
from streams.runtime.settings import StreamSettings


class SinkSettings(StreamSettings, ClickHouseSettings):
    """Settings of one sink worker."""

    sink_metrics_port: Port = Field(
        0, description="Port of the sink's /metrics and /healthz; 0: none."
    )
