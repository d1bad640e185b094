"""A network in which a browser reaches the API at a private address."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser

from tests.e2e.console.browser import CHROMIUM
from tests.e2e.console.stack import ConsoleStack
from tests.integration.api.serving import served

ADDRESS, PORT, NAME = "192.168.1.50", 8000, "platestream.local"
_LISTEN = f"""
import socket, subprocess, sys
for words in (["link", "set", "lo", "up"], ["address", "add", "{ADDRESS}/24", "dev", "lo"]):
    subprocess.run(["ip", *words], check=True)
listener = socket.create_server(("{ADDRESS}", {PORT}))
with socket.socket(fileno=int(sys.argv[1])) as channel:
    socket.send_fds(channel, [b"!"], [listener.fileno()])
    listener.close()
    channel.recv(1)
"""
"""Program that keeps the network open until the other end of its channel is closed."""


@dataclass(frozen=True)
class HomeNetwork:
    """A network namespace, the ``pid`` of its process, and the ``listener`` at its address."""

    pid: int
    listener: socket.socket

    @contextmanager
    def browser(self, other: Browser, folder: Path) -> Iterator[Browser]:
        """Yield a browser in the network, started by a script in ``folder``."""
        script = folder / "chromium"
        enter = f"nsenter --target {self.pid} --user --net --preserve-credentials"
        script.write_text(f'#!/bin/sh\nexec {enter} {CHROMIUM} "$@"\n')
        script.chmod(0o755)
        resolves = f"--host-resolver-rules=MAP {NAME} {ADDRESS}"
        launched = other.browser_type.launch(
            executable_path=script, args=["--no-sandbox", "--disable-dev-shm-usage", resolves]
        )
        yield launched
        launched.close()

    @contextmanager
    def serving(self, stack: ConsoleStack) -> Iterator[None]:
        """Serve a stack's API at the address of the network as well."""
        held = AsyncExitStack()
        stack.run(held.enter_async_context(served(stack.application, listener=self.listener)))
        yield
        stack.run(held.aclose())


@contextmanager
def home_network() -> Iterator[HomeNetwork]:
    """Yield a network namespace with a listener at :data:`ADDRESS`."""
    own, given = socket.socketpair()
    command = ["unshare", "--map-root-user", "--net", sys.executable, "-c", _LISTEN]
    process = subprocess.Popen([*command, str(given.fileno())], pass_fds=[given.fileno()])
    given.close()
    with own:
        own.settimeout(30)
        _, descriptors, _, _ = socket.recv_fds(own, 1, 1)
        yield HomeNetwork(process.pid, socket.socket(fileno=descriptors[0]))
    assert process.wait(timeout=30) == 0
