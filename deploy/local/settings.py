"""Settings of the local stack."""

from pathlib import Path

from pydantic import Field, SecretStr

from common.settings import Fragment, HttpUrlText, Port
from deploy.local.servers.base import CLONE


class LocalStackSettings(Fragment):
    """The ports and folder of the local stack, and servers to use instead of the embedded ones.

    If the address of a server is set, the stack uses that server and does not start its own.
    """

    local_dir: Path = Field(
        CLONE / ".local", description="Folder for the local stack's data, logs and secrets."
    )
    api_port: Port = Field(8000, description="Port on which the API listens.")
    metrics_port: Port = Field(
        18000,
        description="port of the API; the other processes add fixed offsets.",
    )
    kafka_port: Port = Field(19092, description="Port of the local stack's Kafka broker.")
    s3_port: Port = Field(19000, description="Port of the local stack's S3 server.")
    postgres_port: Port = Field(15432, description="Port of the local stack's PostgreSQL server.")
    clickhouse_port: Port = Field(18123, description="Port of the local stack's ClickHouse server.")
    kafka_max_message_bytes: int = Field(
        8_388_608,
        ge=1_048_576,
        description="Maximum record size, applied to producers, topics and consumers. External "
        "brokers must allow it.",
    )
    s3_bucket: str = Field("platestream", min_length=3, description="S3 bucket for images.")

    kafka_bootstrap_servers: str | None = Field(
        None, description="Kafka brokers to use instead of the embedded one."
    )
    s3_endpoint: HttpUrlText | None = Field(
        None, description="S3 service to use instead of the embedded one."
    )
    database_url: SecretStr | None = Field(
        None, description="PostgreSQL database to use instead of the embedded one."
    )
    clickhouse_url: HttpUrlText | None = Field(
        None, description="ClickHouse server to use instead of the embedded one."
    )
