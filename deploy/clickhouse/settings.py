"""Settings of the embedded ClickHouse server."""

from typing import Final

from pydantic import Field, SecretStr

from common.settings import ClickHouseLoginSettings, ProcessSettings

ANALYST: Final = "analyst"
"""Name of the read-only user."""


class ClickHouseServerSettings(ProcessSettings, ClickHouseLoginSettings):
    """The users of the embedded ClickHouse server."""

    clickhouse_server_reader_password: SecretStr = Field(
        SecretStr(""),
        description="Password of `analyst`, the read-only user of the embedded ClickHouse server. "
        "Empty: the user does not exist.",
    )
