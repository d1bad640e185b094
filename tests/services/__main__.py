"""``python -m tests.services COMMAND``: run a command on one set of test servers.

All processes of a test run share these servers. The environment contains the addresses, which
``tests/services/addresses.py`` reads. A server whose address is already set is not started.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from deploy.local.servers.kafka import KafkaServer
from deploy.local.servers.postgres import PostgresServer
from tests.services.clickhouse import ClickHouseService
from tests.services.kafka import kafka_process
from tests.services.postgres import postgres_process
from tests.services.process import ServerProcess
from tests.services.redis import RedisServer, redis_process
from tests.services.s3 import s3_process, settings_of

_PREFIX: Final = "PLATESTREAM_TEST_"
_SERVERS: Final[Mapping[str, Callable[[Path], ServerProcess]]] = {
    "KAFKA_BOOTSTRAP_SERVERS": kafka_process,
    "DATABASE_URL": postgres_process,
    "REDIS_URL": redis_process,
    "CLICKHOUSE_URL": ClickHouseService,
    "S3_ENDPOINT": s3_process,
}
"""The servers, by the variable that contains the server's address."""


def main(command: list[str]) -> int:
    """Start the servers, run the command, stop the servers; return the command's status."""
    wanted = [make for name, make in _SERVERS.items() if _PREFIX + name not in os.environ]
    with TemporaryDirectory(prefix="platestream-servers-", ignore_cleanup_errors=True) as folder:
        processes = [make(Path(folder)) for make in wanted]
        with ExitStack() as stack, ThreadPoolExecutor() as threads:
            list(threads.map(stack.enter_context, processes))
            addresses = {k: v for each in processes for k, v in _addresses(each).items()}
            environment = {f"{_PREFIX}{name}": value for name, value in addresses.items()}
            return subprocess.call(command, env={**os.environ, **environment})


def _addresses(process: ServerProcess) -> dict[str, str]:
    """Return the variables, without their prefix, that contain a started server's address."""
    server = process.server
    if isinstance(process, ClickHouseService):
        address = process.address
        return {
            "CLICKHOUSE_URL": address.url,
            "CLICKHOUSE_USER": address.user,
            "CLICKHOUSE_PASSWORD": address.password,
        }
    if isinstance(server, KafkaServer):
        return {"KAFKA_BOOTSTRAP_SERVERS": server.bootstrap_servers}
    if isinstance(server, PostgresServer):
        return {"DATABASE_URL": server.url("postgres")}
    if isinstance(server, RedisServer):
        return {"REDIS_URL": server.url}
    settings = settings_of(process)
    return {
        "S3_ENDPOINT": settings.s3_endpoint,
        "S3_ACCESS_KEY": settings.s3_access_key,
        "S3_SECRET_KEY": settings.s3_secret_key.get_secret_value(),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
