"""Running servers that tests use instead of starting new servers."""

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from common.settings import HttpUrlText


class GivenServers(BaseSettings):
    """Addresses in the environment. Tests create separate topics, databases and buckets."""

    model_config = SettingsConfigDict(env_prefix="PLATESTREAM_TEST_", frozen=True)

    kafka_bootstrap_servers: str | None = Field(
        default=None, description="Kafka brokers to test on."
    )
    database_url: SecretStr | None = Field(
        default=None, description="PostgreSQL to test on, as a user that may create databases."
    )
    redis_url: SecretStr | None = Field(
        default=None, description="Redis-compatible store to test on."
    )
    clickhouse_url: HttpUrlText | None = Field(
        default=None, description="ClickHouse to test on, as a user that may create databases."
    )
    clickhouse_user: str = Field(default="default", description="User there.")
    clickhouse_password: SecretStr = Field(default=SecretStr(""), description="Password there.")
    s3_endpoint: HttpUrlText | None = Field(default=None, description="S3 service to test on.")
    s3_access_key: str = Field(default="", description="Access key id there.")
    s3_secret_key: SecretStr = Field(default=SecretStr(""), description="Secret access key there.")
