"""The proxy of a fleet: HAProxy in front of both APIs, which also forwards ports of servers.

**Source:** HAProxy 2.6 configuration manual.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.local.servers.base import NotReadyError, PortUse, Program, Server, check_port, tied

_GLOBAL = """
defaults
    mode tcp
    timeout connect 3s
    timeout client 1h
    timeout server 1h
    timeout check 3s
"""
# After two failed checks in a row, an API gets no requests, and pending ones go to the other API.
_API = """
frontend api
    mode http
    bind 127.0.0.1:{port}
    bind {address}:{port}
    timeout client 60s
    default_backend apis

backend apis
    mode http
    balance roundrobin
    timeout server 60s
    option httpchk GET /healthz
    option redispatch
    retries 2
{servers}
"""


@dataclass(frozen=True, kw_only=True)
class Proxy(Server):
    """HAProxy for ``apis``, the addresses of the APIs by name. At ``address`` the proxy also
    forwards ``passed_on``, which are ports of servers on 127.0.0.1.
    """

    address: str
    apis: Mapping[str, str]
    passed_on: tuple[int, ...]
    name: str = "proxy"

    def ports(self) -> tuple[PortUse, ...]:
        """Return no ports. The API's port is already in the plan."""
        return ()

    def prepare(self) -> None:
        assert shutil.which("haproxy"), "no HAProxy: apt-get install haproxy"
        super().prepare()
        self._configuration.write_text("".join((_GLOBAL, self._api(), *self._listeners())))

    def program(self) -> Program:
        # Debian installs HAProxy in a folder that is not on every PATH.
        program = shutil.which("haproxy") or "haproxy"
        command = tied(program, "-db", "-f", str(self._configuration))
        return Program(name=self.name, command=command, directory=self.directory.parent)

    def check(self) -> None:
        """Check that the proxy accepts connections.

        Raises:
            NotReadyError: the proxy does not accept connections yet.
        """
        if not self._configuration.exists():
            raise NotReadyError("not prepared")
        check_port(self.port)

    @property
    def _configuration(self) -> Path:
        return self.directory / "haproxy.cfg"

    def _api(self) -> str:
        servers = "\n".join(
            f"    server {name} {address} check inter 1s fall 2 rise 1"
            for name, address in self.apis.items()
        )
        return _API.format(port=self.port, address=self.address, servers=servers)

    def _listeners(self) -> list[str]:
        return [
            f"\nlisten port-{port}\n    bind {self.address}:{port}\n"
            f"    server here 127.0.0.1:{port}\n"
            for port in self.passed_on
        ]
