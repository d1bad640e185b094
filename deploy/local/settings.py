"""Settings of the local stack."""

from pathlib import Path

from pydantic import Field, SecretStr

from common.settings import Fragment, HttpUrlText, Port
from deploy.local.servers.base import CLONE


class LocalStackSettings(Fragment):
    """The ports and folder of the local stack, and the servers it should not start itself.

    Naming the address of a server means: use that one.
    """

    local_dir: Path = Field(
        CLONE / ".local", description="Folder of all data, logs and secrets of the local stack."
    )
    api_port: Port = Field(8000, description="Port on which the API listens.")
    metrics_port: Port = Field(
        18000,
        description="Port for /metrics, /healthz and /readyz; 0: disabled. In the local stack each "
        "process adds a number of its own.",
    )
    kafka_port: Port = Field(19092, description="Port of the embedded Kafka broker.")
    s3_port: Port = Field(19000, description="Port of the embedded S3 server.")
    postgres_port: Port = Field(15432, description="Port of the embedded PostgreSQL server.")
    clickhouse_port: Port = Field(18123, description="Port of the embedded ClickHouse server.")
    kafka_max_message_bytes: int = Field(
        8_388_608,
        ge=1_048_576,
        description="Largest record on any topic, set alike at producers, topics and consumers; "
        "the local stack sets it at its broker, too.",
    )
    s3_bucket: str = Field("platestream", min_length=3, description="Bucket of all images.")

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
