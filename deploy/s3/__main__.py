"""``python -m deploy.s3``: S3Proxy, and the front through which all requests come."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from aiohttp import web

from common.logs import configure_logging
from common.settings import ProcessSettings
from deploy.local.ports import free_ports
from deploy.local.servers.s3 import PORT_PLACE
from deploy.s3.front import Front
from deploy.s3.room import Bounds, Room

_STOP_SECONDS = 1.0


def main() -> int:
    """Serve until SIGTERM or SIGINT, or until S3Proxy ends; return the exit status."""
    given = _arguments(sys.argv[1:])
    # No server is given settings of the service.
    configure_logging(ProcessSettings.model_validate({}))
    return asyncio.run(_serve(given))


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m deploy.s3", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1")
    parser.add_argument("--folder", type=Path, required=True, help="folder of all objects")
    parser.add_argument("--max-bytes", type=int, required=True, help="of all objects; 0: any")
    parser.add_argument("--keep-free-bytes", type=int, required=True, help="on the disk")
    parser.add_argument("command", nargs="+", help=f"starts S3Proxy on port {PORT_PLACE}")
    return parser.parse_args(arguments)


async def _serve(given: argparse.Namespace) -> int:
    stopped = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stopped.set)
    (port,) = free_ports(1)
    command = [argument.replace(PORT_PLACE, str(port)) for argument in given.command]
    # Ends with this process: the command is tied to it.
    proxy = await asyncio.create_subprocess_exec(*command, cwd=given.folder)
    room = Room(given.folder, Bounds(given.max_bytes, given.keep_free_bytes))
    front = Front(f"http://127.0.0.1:{port}", room)
    runner = web.ServerRunner(web.Server(front.answer), shutdown_timeout=_STOP_SECONDS)
    await runner.setup()
    measuring = asyncio.create_task(room.measure_for_ever())
    try:
        await web.TCPSite(runner, "127.0.0.1", given.port).start()
        waits = [asyncio.create_task(stopped.wait()), asyncio.create_task(proxy.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        waits[0].cancel()
    finally:
        measuring.cancel()
        await runner.cleanup()
        await front.close()
        with suppress(ProcessLookupError):
            proxy.terminate()
        await proxy.wait()
    return 0 if stopped.is_set() else 1


if __name__ == "__main__":
    sys.exit(main())
