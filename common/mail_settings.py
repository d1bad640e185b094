"""The part of the settings of e-mail that several processes read."""

from pydantic import Field

from common.settings import Fragment


class SmtpHostSettings(Fragment):
    """The server that e-mail of alerts goes through; the API says where there is none."""

    smtp_host: str = Field(
        "",
        description="SMTP server for e-mail of alerts; empty: none is sent, which the console says "
        "at an alert's e-mail addresses.",
    )
