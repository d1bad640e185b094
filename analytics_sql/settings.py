"""Settings of ``python -m analytics_sql``."""

from pydantic import Field

from common.settings import ClickHouseSettings, Fragment, ProcessSettings


class RecognitionRetentionSettings(Fragment):
    """Retention of recognitions."""

    recognition_retention_days: int = Field(
        400,
        ge=1,
        le=36_500,
        description="Days to keep recognitions. Data is deleted by whole months, so up to a "
        "month later, together with corrections and the plates in triggers and "
        "deliveries. Takes effect at the next migration.",
    )


class AnalyticsSettings(ProcessSettings, ClickHouseSettings, RecognitionRetentionSettings):
    """Settings of ``python -m analytics_sql``."""
