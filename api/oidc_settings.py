"""Settings for login through an OpenID Connect provider."""

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
    domains = tuple(
        part.strip().lower().removeprefix("@") for part in value.split(",") if part.strip()
    )
    for domain in domains:
        if not _DOMAIN.fullmatch(domain):
            raise ValueError(f"{domain!r} is not a valid email domain")
    return domains


DomainList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_domains)]
"""Comma-separated email domains, in lower case."""


class OidcSettings(Fragment):
    """The provider through which people log in, and the rules for who can log in."""

    oidc_issuer: str = Field(
        "",
        description="Issuer URL of the OpenID Connect provider, for example "
        "https://login.example.com/realms/office; empty: disabled. Register "
        "PLATESTREAM_PUBLIC_URL/log-in/oidc as the redirect URI.",
    )
    oidc_client_id: str = Field("", description="Client ID at the OpenID Connect provider.")
    oidc_client_secret: SecretStr = Field(
        SecretStr(""),
        description="Client secret at the OpenID Connect provider; empty: public client.",
    )
    oidc_scopes: str = Field(
        "openid email profile",
        description="Space-separated scopes to request from the provider; must include openid.",
    )
    oidc_label: str = Field(
        "OpenID Connect",
        min_length=1,
        max_length=60,
        description='Name of the provider on the login button ("Log in with …").',
    )
    oidc_trusts_email: bool = Field(
        False,
        description="Treat email addresses from the provider as verified even if it does not "
        "say so (Microsoft Entra). Only for providers whose users cannot choose "
        "their own address.",
    )
    oidc_email_domains: DomainList = Field(
        (),
        description="Comma-separated email domains allowed to log in through the provider, "
        "without subdomains (example.com); empty: any.",
    )
    oidc_join_account: str = Field(
        "",
        description="Email address of the account that unknown people join at their first login "
        "through the provider. Empty: an invitation is required.",
    )
    oidc_join_role: Literal["viewer", "operator", "administrator"] = Field(
        "viewer",
        description="Role of people who join through the provider: viewer, operator or "
        "administrator.",
    )
    password_log_in: bool = Field(
        True,
        description="Allow login, and accepting invitations, with a password. If false, only "
        "the identity provider can be used.",
    )

    @model_validator(mode="after")
    def _oidc_fits_together(self) -> Self:
        if not self.oidc_issuer:
            if not self.password_log_in:
                raise ValueError(
                    "PLATESTREAM_PASSWORD_LOG_IN=false requires PLATESTREAM_OIDC_ISSUER: otherwise "
                    "login is impossible"
                )
            return self
        faults = [
            *([] if _is_safe(self.oidc_issuer) else [_NOT_SAFE]),
            *([] if self.oidc_client_id else ["PLATESTREAM_OIDC_CLIENT_ID: is required"]),
            *([] if _OPENID in self.oidc_scopes.split() else [_NOT_OPENID]),
        ]
        if faults:
            raise ValueError("\n".join(faults))
        return self


_NOT_OPENID = "PLATESTREAM_OIDC_SCOPES: must include openid"
_NOT_SAFE = (
    "PLATESTREAM_OIDC_ISSUER: must be an https:// URL without a query, or an http:// URL on this "
    "machine"
)


def _is_safe(issuer: str) -> bool:
    """Return whether an issuer is safe from impersonation on the network."""
    try:
        parts = urlsplit(issuer)
        host = parts.hostname
    except ValueError:
        return False
    if not host or parts.query or parts.fragment or "@" in parts.netloc:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_own_machine(host))
