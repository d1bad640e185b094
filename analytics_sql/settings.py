"""Settings of the schema runner."""

from pydantic import Field

from common.settings import ClickHouseSettings, ProcessSettings


class AnalyticsSettings(ProcessSettings, ClickHouseSettings):
    """Settings of ``python -m analytics_sql``."""

    recognition_retention_days: int = Field(
        400,
        ge=1,
        le=36_500,
        description="Recognitions are kept at least so many days, and at most a month longer, as "
        "they are deleted a month at once; of alerts that fired the plates, and of deliveries what "
        "they carried, are emptied then. A change takes effect at the next start.",
    )
