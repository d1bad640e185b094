"""Settings of traces."""

from urllib.parse import urlsplit

from pydantic import Field, field_validator

from common.settings import Fragment


class TraceSettings(Fragment):
    """The traces of a process: where they go, and of how much."""

    traces_endpoint: str = Field(
        "",
        description="Address that takes OpenTelemetry traces by OTLP over HTTP, whole: "
        "`http://collector:4318/v1/traces`. Empty: no traces are made. One that is away stops and "
        "slows nothing; its spans are lost.",
    )
    traces_sample_ratio: float = Field(
        0.01,
        ge=0,
        le=1,
        description="Share of frames and of API requests of which a trace is made; all that "
        "follows from one of them is in its trace. At 1 a camera of five frames a second gives "
        "some thirty spans a second.",
    )

    @field_validator("traces_endpoint")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        if not value:
            return value
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an http:// or https:// address, or empty")
        if parts.username is not None:
            raise ValueError("must have no user and no password")
        return value
