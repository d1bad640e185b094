"""Settings of e-mail: the SMTP server and its limits."""

from enum import StrEnum

from pydantic import Field, SecretStr

from common.settings import Fragment, Port


class SmtpEncryption(StrEnum):
    """The protection of the connection to the SMTP server."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


class EmailSettings(Fragment):
    """The SMTP server that e-mail goes through: alerts, and links of invitations."""

    smtp_host: str = Field(
        "",
        description="SMTP server for e-mail of alerts and invitations; empty: none is sent, which "
        "the console says at an alert's e-mail addresses.",
    )
    smtp_port: Port = Field(587, description="Port of the SMTP server.")
    smtp_encryption: SmtpEncryption = Field(
        SmtpEncryption.STARTTLS,
        description="starttls, tls (from the first byte, usually port 465) or none.",
    )
    smtp_user: str = Field("", description="User at the SMTP server; empty: without logging in.")
    smtp_password: SecretStr = Field(SecretStr(""), description="Password at the SMTP server.")
    smtp_from: str = Field(
        "Platestream <platestream@localhost>",
        description="Sender of e-mail of alerts and invitations.",
    )
    smtp_ca_file: str = Field(
        "",
        description="File of certificates (PEM) to trust at the SMTP server; empty: the system's.",
    )
    messages_per_address_per_hour: int = Field(
        60,
        ge=0,
        description="Maximum number of emails per address, and of notifications (push, chat, SMS) "
        "per Apprise URL, in an hour. Further alerts are recorded as not sent. 0: unlimited.",
    )
    public_url: str = Field(
        "http://127.0.0.1:8000",
        description="Address of the API as people reach it, for links in e-mail and, where it is "
        "set, in messages by services. With https:// session cookies are always Secure, and people "
        "on other machines cannot log in over plain HTTP.",
    )
