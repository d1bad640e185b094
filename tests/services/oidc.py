"""An OpenID Connect provider for tests: a process that accepts any registered subject."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

import httpx
import pytest

from deploy.local.ports import free_ports
from deploy.local.servers.base import NotReadyError, Program, Server, check_port, tied
from tests.services.process import ServerProcess

CLIENT = {"oidc_client_id": "platestream", "oidc_client_secret": "not+secret:at all"}


@dataclass(frozen=True, kw_only=True)
class OidcServer(Server):
    """A provider that stores everything in memory and accepts any client."""

    name: str = "oidc"

    @property
    def issuer(self) -> str:
        """The URL of the provider, which is also the issuer."""
        return f"http://127.0.0.1:{self.port}"

    def program(self) -> Program:
        """Return the server's process."""
        words = ("-m", "oidc_provider_mock", "--port", str(self.port), "--require-nonce")
        return Program(name=self.name, command=tied(sys.executable, *words), directory=Path.cwd())

    def check(self) -> None:
        """Request the provider's discovery document.

        Raises:
            NotReadyError: the provider does not return the document yet.
        """
        check_port(self.port)
        try:
            httpx.get(f"{self.issuer}/.well-known/openid-configuration").raise_for_status()
        except httpx.HTTPError as error:
            raise NotReadyError("no description") from error


@dataclass(frozen=True)
class OidcProvider:
    """A running provider, as tests use it."""

    issuer: str

    @property
    def settings(self) -> dict[str, str]:
        return {**CLIENT, "oidc_issuer": self.issuer, "oidc_label": "Example"}

    def know(self, subject: str, **claims: object) -> None:
        """Register a subject with the claims that the provider returns."""
        answer = httpx.put(f"{self.issuer}/users/{quote(subject)}", json=claims)
        answer.raise_for_status()

    def let_in(self, url: str, subject: str) -> dict[str, str]:
        """Log in as ``subject``, and return the parameters with which the browser is sent back."""
        answer = httpx.post(url, data={"sub": subject})
        assert answer.status_code == 302, answer.text
        return dict(parse_qsl(urlsplit(answer.headers["location"]).query))


@pytest.fixture(scope="session")
def oidc_provider(services_directory: Path) -> Iterator[OidcProvider]:
    """The test run's provider."""
    (port,) = free_ports(1)
    server = OidcServer(directory=services_directory / "oidc", port=port)
    with ServerProcess(server, services_directory / "logs"):
        yield OidcProvider(server.issuer)
