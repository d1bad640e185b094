"""A network between processes of this machine that can be cut, as when a cable is pulled.

A pair of virtual Ethernet devices leads into a network namespace, where a relay listens and passes
on to ports of 127.0.0.1. While the far end is down packets vanish: nothing is refused or closed,
what was sent is sent again, and who connects hears nothing. It takes root.

The near end stays up: without it its route would go too, and packets to whatever answers at the
machine's default gateway. The far end's hardware address is fixed, as nobody would tell it.

**Source:** veth(4), network_namespaces(7), setns(2), ip-netns(8).
"""

import asyncio
import ctypes
import itertools
import os
import socket
import subprocess
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.blocks import RunsForABlock
from tests.services.ip_command import ip

_CLONE_NEWNET = 0x40000000
_COMMAND_SECONDS = 10
_PIECE_BYTES = 1 << 18
_CABLES = itertools.count()
_FAR_HARDWARE_ADDRESS = "02:00:00:00:00:02"


_Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Cable:
    """A network of two: ``address`` is the far end's, in the namespace ``name``."""

    name: str
    device: str
    near_address: str
    address: str

    def cut(self) -> None:
        """Let packets vanish from now on, in both directions."""
        self._set_far_end("down")

    def mend(self) -> None:
        """Let packets through again."""
        self._set_far_end("up")

    @property
    def far_device(self) -> str:
        """The far end, as the namespace names it."""
        return f"far{self.device}"

    def _set_far_end(self, state: str) -> None:
        ip("-n", self.name, "link", "set", self.far_device, state)


@contextmanager
def laid_cable() -> Iterator[Cable | None]:
    """Lay a cable for the length of the block; None where this user may not."""
    # Another one for each process and each cable of it: four addresses of 10.200.0.0/14.
    number = (os.getpid() * 7 + next(_CABLES)) % 65_536
    name, near = f"cable-{number}", f"cab{number}"
    begin, last = f"10.{200 + number // 16_384}.{number // 64 % 256}", number % 64 * 4
    cable = Cable(name, near, f"{begin}.{last + 1}", f"{begin}.{last + 2}")
    try:
        try:
            _lay(cable)
        except (subprocess.CalledProcessError, OSError):
            yield None
            return
        yield cable
    finally:
        with suppress(subprocess.CalledProcessError, OSError):
            # With the namespace both ends go.
            ip("netns", "delete", name)


def _lay(cable: Cable) -> None:
    far = cable.far_device
    ip("netns", "add", cable.name)
    peer = ("peer", "name", far, "address", _FAR_HARDWARE_ADDRESS, "netns", cable.name)
    ip("link", "add", cable.device, "type", "veth", *peer)
    ip("address", "add", f"{cable.near_address}/30", "dev", cable.device)
    ip("link", "set", cable.device, "up")
    ip("-n", cable.name, "address", "add", f"{cable.address}/30", "dev", far)
    ip("-n", cable.name, "link", "set", far, "up")
    neighbour = (cable.address, "lladdr", _FAR_HARDWARE_ADDRESS, "dev", cable.device)
    ip("neighbour", "replace", *neighbour, "nud", "permanent")


class Relay(RunsForABlock):
    """Passes on what comes over a cable: each of ``ports`` to the same one on 127.0.0.1."""

    def __init__(self, cable: Cable, ports: Sequence[int]) -> None:
        """Take the far end and the ports."""
        self._cable, self._ports = cable, ports
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._listening = threading.Event()
        self._over = asyncio.Event()

    def _run(self) -> None:
        sockets = [_listen_within(self._cable, port) for port in self._ports]
        self._listening.set()
        self._loop.run_until_complete(self._serve(sockets))
        self._loop.close()

    async def _serve(self, sockets: Sequence[socket.socket]) -> None:
        servers = [
            await asyncio.start_server(_relaying_to(sock.getsockname()[1]), sock=sock)
            for sock in sockets
        ]
        await self._over.wait()
        for server in servers:
            server.close()
        connections = asyncio.all_tasks() - {asyncio.current_task()}
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    def _begin(self) -> None:
        self._thread.start()
        assert self._listening.wait(_COMMAND_SECONDS), "the relay does not listen"

    def _end(self, error: BaseException | None) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(_COMMAND_SECONDS)


def _listen_within(cable: Cable, port: int) -> socket.socket:
    """Return a socket that listens in the cable's namespace. It stays there, whoever uses it."""
    found: list[socket.socket] = []

    def listen() -> None:
        # Of this thread alone, which ends here.
        libc = ctypes.CDLL(None, use_errno=True)
        with (Path("/run/netns") / cable.name).open() as namespace:
            if libc.setns(namespace.fileno(), _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        found.append(socket.create_server((cable.address, port), backlog=128))

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    return found[0]


def _relaying_to(port: int) -> _Handler:
    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            onward_reader, onward_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.transport.abort()
            return
        try:
            await asyncio.gather(_pass_on(reader, onward_writer), _pass_on(onward_reader, writer))
        finally:
            onward_writer.close()
            writer.close()

    return relay


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(_PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
    writer.close()
