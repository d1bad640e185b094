"""Settings of the schema runner."""

from pydantic import Field

from common.settings import ClickHouseSettings, Fragment, ProcessSettings


class RecognitionRetentionSettings(Fragment):
    """The time for which recognitions are kept."""

    recognition_retention_days: int = Field(
        400,
        ge=1,
        le=36_500,
        description="Recognitions are kept at least so many days, and at most a month longer, as "
        "they are deleted a month at once; of alerts that fired the plates, and of deliveries what "
        "they carried, are emptied then; corrections go after that month. A change takes effect at "
        "the next start.",
    )


class AnalyticsSettings(ProcessSettings, ClickHouseSettings, RecognitionRetentionSettings):
    """Settings of ``python -m analytics_sql``."""
