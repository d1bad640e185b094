"""The available login methods."""

from dataclasses import dataclass

from api.errors import ApiError, ErrorCode
from api.settings import ApiSettings


@dataclass(frozen=True)
class LogInMethods:
    """How people may log in: by password, by the provider of this name (None: there is none)."""

    password: bool = True
    provider: str | None = None

    def require_password(self) -> None:
        """Refuse a log-in by password where that is switched off.

        Raises:
            ApiError: 403.
        """
        if not self.password:
            raise ApiError(ErrorCode.PASSWORD_LOG_IN_OFF)


def log_in_methods(settings: ApiSettings) -> LogInMethods:
    """Return the operator's ways."""
    provider = settings.oidc_label if settings.oidc_issuer else None
    return LogInMethods(settings.password_log_in, provider)
