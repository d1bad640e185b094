"""Settings of the embedded ClickHouse server."""

from pathlib import Path

from pydantic import Field, SecretStr

from common.settings import Port, ProcessSettings


class ClickHouseServerSettings(ProcessSettings):
    """The settings of the embedded ClickHouse server."""

    clickhouse_server_host: str = Field(
        "127.0.0.1", description="Address the embedded ClickHouse server listens on."
    )
    clickhouse_server_port: Port = Field(
        18123, description="Port the embedded ClickHouse server listens on."
    )
    clickhouse_server_data_path: Path = Field(
        Path(".local/clickhouse"),
        description="Folder of the embedded ClickHouse server; one process at a time.",
    )
    clickhouse_server_user: str = Field(
        "platestream", min_length=1, description="The user who may do everything: the service."
    )
    clickhouse_server_password: SecretStr = Field(description="That user's password.")
    clickhouse_server_reader_user: str = Field(
        "analyst", min_length=1, description="A second user, who may only read."
    )
    clickhouse_server_reader_password: SecretStr = Field(
        SecretStr(""), description="That user's password; empty: there is no such user."
    )
    clickhouse_server_reader_queries: int = Field(
        2, ge=1, le=256, description="Queries of that user that run at once."
    )
    clickhouse_server_reader_query_seconds: int = Field(
        60, ge=1, description="A query of that user that runs longer is ended."
    )
    clickhouse_server_reader_memory_bytes: int = Field(
        256 << 20, ge=16 << 20, description="Memory that a query of that user may take."
    )
    clickhouse_server_reader_queries_per_hour: int = Field(
        10_000,
        ge=1,
        description="Queries in an hour of each analyst who reads one account (`platestream"
        " analyst`).",
    )
    clickhouse_server_reader_seconds_per_hour: int = Field(
        1_800, ge=1, description="Seconds that these queries may take together in an hour."
    )
    clickhouse_server_concurrent_queries: int = Field(
        16, ge=1, le=256, description="Queries that run at once; the next ones wait their turn."
    )
    clickhouse_server_queue_seconds: float = Field(
        10.0, gt=0, description="How long a query waits for its turn before it is refused."
    )
    clickhouse_server_memory_bytes: int = Field(
        1 << 30, ge=256 << 20, description="Memory that queries and merges may take together."
    )
    clickhouse_server_query_seconds: int = Field(
        300, ge=0, description="A query that runs longer is ended; 0: never."
    )
    clickhouse_server_stop_seconds: int = Field(
        30, ge=1, description="How long a stop waits for running requests."
    )
    clickhouse_server_keep_free_bytes: int = Field(
        256 << 20,
        ge=0,
        description="Room on the disk that inserts and merges leave: with less they are refused, "
        "as the engine may spoil a part that it merges while the disk runs full.",
    )
    clickhouse_server_fsync: bool = Field(
        True,
        description="Whether an insert is on the disk, not only with the operating system, when it "
        "is acknowledged; off, a power cut can lose the latest ones, a killed process still none.",
    )
