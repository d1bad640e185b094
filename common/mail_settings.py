"""Email settings: the SMTP server and limits."""

from enum import StrEnum

from pydantic import Field, SecretStr

from common.settings import Fragment, Port


class SmtpEncryption(StrEnum):
    """Encryption of the connection to the SMTP server."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


class EmailSettings(Fragment):
    """The SMTP server for alert and invitation emails."""

    smtp_host: str = Field(
        "",
        description="SMTP server for alert and invitation emails. Empty: no emails are sent, "
        "and the console says so.",
    )
    smtp_port: Port = Field(587, description="Port of the SMTP server.")
    smtp_encryption: SmtpEncryption = Field(
        SmtpEncryption.STARTTLS,
        description="SMTP encryption: `starttls`, `tls` (usually port 465) or `none`.",
    )
    smtp_user: str = Field("", description="SMTP user name; empty: no authentication.")
    smtp_password: SecretStr = Field(SecretStr(""), description="SMTP password.")
    smtp_from: str = Field(
        "Platestream <platestream@localhost>",
        description="Sender of alert and invitation emails.",
    )
    smtp_ca_file: str = Field(
        "",
        description="PEM file with CA certificates for the SMTP server; empty: the system's.",
    )
    messages_per_address_per_hour: int = Field(
        60,
        ge=0,
        description="Maximum number of emails per address, and of notifications (push, chat, SMS) "
        "per Apprise URL, within an hour. Further messages are recorded as not sent. 0: unlimited.",
    )
    public_url: str = Field(
        "http://127.0.0.1:8000",
        description="Public URL of the API, used for links in emails and notifications. With "
        "https://, session cookies are always Secure, and login over plain HTTP "
        "works on the same machine only.",
    )
