"""Settings of the sink."""

from pydantic import Field

from common.settings import ClickHouseSettings, Port
from streams.runtime.settings import StreamSettings


class SinkSettings(StreamSettings, ClickHouseSettings):
    """Settings of one sink worker."""

    sink_batch_rows: int = Field(
        5000, ge=1, le=100_000, description="Maximum rows in a batch that is written to ClickHouse."
    )
    sink_batch_wait_seconds: float = Field(
        0.25,
        gt=0,
        le=60,
        description="How long rows are gathered before they are written; longer means fewer, "
        "larger writes and rows that are readable later.",
    )
    sink_rollup_seconds: float = Field(
        30.0,
        gt=0,
        le=3600,
        description="How often what was written is counted into the rollups that analytics are "
        "answered from; until then it is counted row by row with each call.",
    )
    sink_metrics_port: Port = Field(
        0, description="Port of the sink's /metrics and /healthz; 0: none."
    )
