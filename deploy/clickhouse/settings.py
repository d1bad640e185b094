"""Settings of the embedded ClickHouse server."""

from pathlib import Path
from typing import Final

from pydantic import Field, SecretStr

from common.settings import Port, ProcessSettings

ANALYST: Final = "analyst"
"""Name of the read-only user."""


class ClickHouseServerSettings(ProcessSettings):
    """The settings of the embedded ClickHouse server."""

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
    clickhouse_server_reader_password: SecretStr = Field(
        SecretStr(""),
        description="Password of `analyst`, a read-only user of all rows; empty: no such user.",
    )
    clickhouse_server_reader_queries: int = Field(
        2, ge=1, le=256, description="Maximum number of concurrent queries of the analyst."
    )
    clickhouse_server_reader_query_seconds: int = Field(
        60, ge=1, description="Maximum duration of a query of the analyst."
    )
    clickhouse_server_reader_memory_bytes: int = Field(
        256 << 20, ge=16 << 20, description="Memory limit for each query of the analyst."
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
