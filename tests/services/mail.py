"""A real SMTP server that stores its messages, or rejects them."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from deploy.local.ports import free_ports
from tests.blocks import RunsForABlock


@dataclass
class _Handler:
    emails: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    replies: dict[str, str] = field(default_factory=dict)

    async def handle_RCPT(  # noqa: N802 - the library's name
        self, server: Any, session: Any, envelope: Any, address: str, options: Any
    ) -> str:
        if address in self.replies:
            return self.replies[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802 - the library's name
        self, server: Any, session: Any, envelope: Any
    ) -> str:
        message = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(message, EmailMessage)
        self.emails.append(message)
        self.recipients.extend(envelope.rcpt_tos)
        return "250 taken"


def _authenticator(login: tuple[str, str]) -> Callable[..., AuthResult]:
    def check(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        is_right = (data.login.decode(), data.password.decode()) == login
        return AuthResult(success=is_right, handled=False)

    return check


class MailServer(RunsForABlock):
    """An SMTP server on a free port. Use the server as a context manager.

    With ``tls``, clients must use STARTTLS, or TLS from the first byte (``is_tls_at_once``). With
    ``login``, clients must log in after STARTTLS.
    """

    def __init__(
        self,
        tls: ssl.SSLContext | None = None,
        *,
        is_tls_at_once: bool = False,
        login: tuple[str, str] | None = None,
    ) -> None:
        """Set the options. The server listens once the block is entered."""
        self._handler = _Handler()
        (self.port,) = free_ports(1)
        self._tls = tls
        self._is_tls_at_once = is_tls_at_once
        self._login = login
        self._controller = self._new_controller()

    def _new_controller(self) -> Controller:
        return Controller(
            self._handler,
            hostname="127.0.0.1",
            port=self.port,
            ssl_context=self._tls if self._is_tls_at_once else None,
            tls_context=None if self._is_tls_at_once else self._tls,
            require_starttls=self._tls is not None and not self._is_tls_at_once,
            auth_required=self._login is not None,
            authenticator=None if self._login is None else _authenticator(self._login),
        )

    def become_unavailable(self) -> None:
        """Refuse connections until :meth:`recover`."""
        self._controller.stop()

    def recover(self) -> None:
        """Listen on the same port again."""
        self._controller = self._new_controller()
        self._controller.start()

    @property
    def emails(self) -> list[EmailMessage]:
        return self._handler.emails

    @property
    def recipients(self) -> list[str]:
        return self._handler.recipients

    def refuse(self, address: str, reply: str) -> None:
        """Respond with ``reply`` to emails for an address."""
        self._handler.replies[address] = reply

    def accept(self, address: str) -> None:
        """Accept emails for an address again, after :meth:`refuse`."""
        self._handler.replies.pop(address, None)

    def _begin(self) -> None:
        self._controller.start()

    def _end(self, error: BaseException | None) -> None:
        self._controller.stop()
