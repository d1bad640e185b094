"""Runs the embedded ClickHouse server (``deploy.clickhouse``)."""

from dataclasses import dataclass, field

import urllib3

from deploy.clickhouse.settings import ClickHouseServerSettings
from deploy.local.servers.base import NotReadyError, Program, Server, check_port, python_module


@dataclass(frozen=True, kw_only=True)
class ClickHouseServer(Server):
    """The embedded ClickHouse, which stores recognitions and deliveries."""

    password: str = field(repr=False)
    user: str = "platestream"
    analyst_password: str = field(default="", repr=False)
    name: str = "clickhouse"

    @property
    def url(self) -> str:
        """The URL that clients use."""
        return f"http://127.0.0.1:{self.port}"

    def program(self) -> Program:
        """Return the command that starts the server's process."""
        return Program(
            name=self.name,
            command=python_module(
                "deploy.clickhouse", str(self.port), str(self.directory / "data")
            ),
            environment={
                "PLATESTREAM_CLICKHOUSE_USER": self.user,
                "PLATESTREAM_CLICKHOUSE_PASSWORD": self.password,
                "PLATESTREAM_CLICKHOUSE_SERVER_READER_PASSWORD": self.analyst_password,
            },
            settings=(ClickHouseServerSettings,),
            stop_seconds=40,
        )

    def check(self) -> None:
        """Request ``/ping``.

        Raises:
            NotReadyError: the server is not responding.
        """
        check_port(self.port)
        try:
            answer = urllib3.request("GET", f"{self.url}/ping", timeout=3, retries=False)
        except urllib3.exceptions.HTTPError as error:
            raise NotReadyError(f"/ping: {error}") from error
        if answer.status != 200:
            raise NotReadyError(f"/ping returned {answer.status}")
