"""A link between processes of this machine that can be cut, like a cable that is unplugged.

A relay listens at a separate address and forwards to the same ports of 127.0.0.1. While the cable
is cut, the relay forwards nothing in either direction and closes no connection. A client that
connects gets no response. Data sent meanwhile arrives once the cable is mended, unless the sender
has reset the connection, in which case the system would discard the data.
"""

import asyncio
import threading
from collections.abc import Sequence

from tests.blocks import RunsForABlock

_START_SECONDS = 10
_PIECE_BYTES = 1 << 18
_LIMIT_BYTES = 1 << 26


class Cable(RunsForABlock):
    """Relays some ports from :attr:`address` to 127.0.0.1 while the block runs."""

    address = "127.0.0.2"

    def __init__(self) -> None:
        """Create a cable without ports."""
        self.ports: Sequence[int] = ()
        self._is_whole = asyncio.Event()
        self._is_whole.set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._listening = threading.Event()
        self._over = asyncio.Event()
        # The event loop has only weak references. Without these, a task could be collected.
        self._connections: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        """Cut the cable in both directions."""
        self._loop.call_soon_threadsafe(self._is_whole.clear)

    def mend(self) -> None:
        """Mend the cable."""
        asyncio.run_coroutine_threadsafe(self._pass_on_again(), self._loop).result(_START_SECONDS)

    async def _pass_on_again(self) -> None:
        # A connection that was reset meanwhile loses its data, because the loop sees resets first.
        for _ in range(3):
            await asyncio.sleep(0)
        self._is_whole.set()

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        servers = [
            await asyncio.start_server(self._accept, self.address, port, limit=_LIMIT_BYTES)
            for port in self.ports
        ]
        self._listening.set()
        await self._over.wait()
        for server in servers:
            server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = self._loop.create_task(self._relay(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = writer.get_extra_info("sockname")[1]
        await self._is_whole.wait()
        try:
            onward_reader, onward_writer = await asyncio.open_connection(
                "127.0.0.1", port, limit=_LIMIT_BYTES
            )
        except OSError:
            writer.transport.abort()
            return
        try:
            await asyncio.gather(
                self._pass_on(reader, onward_writer), self._pass_on(onward_reader, writer)
            )
        finally:
            onward_writer.close()
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while piece := await reader.read(_PIECE_BYTES):
                await self._is_whole.wait()
                if (error := reader.exception()) is not None:
                    raise error
                writer.write(piece)
                await writer.drain()
            await self._is_whole.wait()
            writer.write_eof()
        except OSError:
            writer.transport.abort()

    def _begin(self) -> None:
        self._thread.start()
        assert self._listening.wait(_START_SECONDS), "the relay does not listen"

    def _end(self, error: BaseException | None) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(_START_SECONDS)
