"""Settings for tracing."""

from urllib.parse import urlsplit

from pydantic import Field, field_validator

from common.settings import Fragment


class TraceSettings(Fragment):
    """The destination and sampling of a process's traces."""

    traces_endpoint: str = Field(
        "",
        description="OTLP/HTTP endpoint for OpenTelemetry traces, including the path: "
        "`http://collector:4318/v1/traces`. Empty: tracing is disabled. If it is unavailable, "
        "spans are dropped without affecting the service.",
    )
    traces_sample_ratio: float = Field(
        0.01,
        ge=0,
        le=1,
        description="Fraction of frames and API requests to trace, 0 to 1. At 1, a camera at "
        "five frames per second produces about 30 spans per second.",
    )

    @field_validator("traces_endpoint")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        if not value:
            return value
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an http:// or https:// URL, or empty")
        if parts.username is not None:
            raise ValueError("must not contain a user name or password")
        return value
