"""The head of every e-mail that the service sends. Pure."""

from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr


def new_message(
    *, sender: str, address: str, subject: str, at: datetime, identifier: str
) -> EmailMessage:
    """Return a message without content; the same ``identifier`` gives the same Message-ID."""
    message = EmailMessage()
    message["From"] = _header_address(sender)
    message["To"] = _header_address(address)
    message["Subject"] = " ".join(subject.split())
    message["Date"] = format_datetime(at)
    message["Message-ID"] = f"<{identifier}@{_domain(sender)}>"
    message["Auto-Submitted"] = "auto-generated"
    return message


def _header_address(text: str) -> Address:
    name, spec = parseaddr(text)
    return Address(display_name=name, addr_spec=spec)


def _domain(sender: str) -> str:
    return parseaddr(sender)[1].rpartition("@")[2] or "platestream"
