"""Determines the available login methods."""

from dataclasses import dataclass

from api.errors import ApiError, ErrorCode
from api.settings import ApiSettings


@dataclass(frozen=True)
class LogInMethods:
    """The enabled login methods. ``provider`` is the identity provider's name, or None."""

    password: bool = True
    provider: str | None = None

    def require_password(self) -> None:
        """Check that password login is enabled.

        Raises:
            ApiError: 403, password login is disabled.
        """
        if not self.password:
            raise ApiError(ErrorCode.PASSWORD_LOG_IN_OFF)


def log_in_methods(settings: ApiSettings) -> LogInMethods:
    """Return the login methods that the settings enable."""
    provider = settings.oidc_label if settings.oidc_issuer else None
    return LogInMethods(settings.password_log_in, provider)
