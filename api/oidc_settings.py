"""Settings of the log-in by an OpenID Connect provider."""

import re
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, model_validator
from pydantic_settings import NoDecode

from common.networks import is_own_machine
from common.settings import Fragment

_OPENID = "openid"
_DOMAIN = re.compile(r"(?!-)[a-z0-9-]+(\.[a-z0-9-]+)+")


def _domains(value: object) -> object:
    if not isinstance(value, str):
        return value
    named = tuple(
        part.strip().lower().removeprefix("@") for part in value.split(",") if part.strip()
    )
    for domain in named:
        if not _DOMAIN.fullmatch(domain):
            raise ValueError(f"{domain!r} is no domain of e-mail addresses")
    return named


DomainList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_domains)]
"""Comma-separated domains of e-mail addresses, lower case."""


class OidcSettings(Fragment):
    """The provider by which people log in, and whom it may let in."""

    oidc_issuer: str = Field(
        "",
        description="OpenID Connect provider by which people log in, as it names itself "
        "(https://login.example.com/realms/office); http only on this machine; empty: none. There "
        "PLATESTREAM_PUBLIC_URL/log-in/oidc is registered as the address to return to.",
    )
    oidc_client_id: str = Field("", description="Id of this installation at the provider.")
    oidc_client_secret: SecretStr = Field(
        SecretStr(""),
        description="Secret of this installation at the provider; empty: a public client.",
    )
    oidc_scopes: str = Field(
        "openid email profile",
        description="Scopes that are asked of the provider, with spaces between them; openid is "
        "one of them.",
    )
    oidc_label: str = Field(
        "OpenID Connect",
        min_length=1,
        max_length=60,
        description="Name of the provider on the button of the log-in page: Log in with ….",
    )
    oidc_trusts_email: bool = Field(
        False,
        description="Whether e-mail addresses of the provider count as verified where it does not "
        "say so (Microsoft Entra). Only for a provider whose people cannot choose their address.",
    )
    oidc_email_domains: DomainList = Field(
        (),
        description="Comma-separated domains of the e-mail addresses with which people log in by "
        "the provider (example.com; not those below it), asked at each log-in; empty: any.",
    )
    oidc_join_account: str = Field(
        "",
        description="E-mail address of the account that people join by themselves whom the "
        "provider knows and no account does; empty: only those who were invited log in.",
    )
    oidc_join_role: Literal["viewer", "operator", "administrator"] = Field(
        "viewer", description="Role of who joins so: viewer, operator or administrator."
    )
    password_log_in: bool = Field(
        True,
        description="Whether people log in by e-mail address and password, and accept invitations "
        "with one; off, the provider is the only way.",
    )

    @model_validator(mode="after")
    def _oidc_fits_together(self) -> Self:
        if not self.oidc_issuer:
            if not self.password_log_in:
                raise ValueError(
                    "PLATESTREAM_PASSWORD_LOG_IN=false needs PLATESTREAM_OIDC_ISSUER: nobody could "
                    "log in"
                )
            return self
        faults = [
            *([] if _is_safe(self.oidc_issuer) else [_NOT_SAFE]),
            *([] if self.oidc_client_id else ["PLATESTREAM_OIDC_CLIENT_ID: is needed"]),
            *([] if _OPENID in self.oidc_scopes.split() else [_NOT_OPENID]),
        ]
        if faults:
            raise ValueError("\n".join(faults))
        return self


_NOT_OPENID = "PLATESTREAM_OIDC_SCOPES: must have openid"
_NOT_SAFE = (
    "PLATESTREAM_OIDC_ISSUER: must be an https:// address without query, or an http:// one of this "
    "machine"
)


def _is_safe(issuer: str) -> bool:
    """Tell whether nobody on the way can play an issuer."""
    try:
        parts = urlsplit(issuer)
        host = parts.hostname
    except ValueError:
        return False
    if not host or parts.query or parts.fragment or "@" in parts.netloc:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_own_machine(host))
