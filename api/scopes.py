"""What a key may be allowed to do."""

from enum import StrEnum


class Scope(StrEnum):
    """One permission of an API key."""

    RECOGNITIONS_READ = "recognitions:read"
    RECOGNITIONS_WRITE = "recognitions:write"
    CAMERAS_READ = "cameras:read"
    CAMERAS_WRITE = "cameras:write"
    ALERTS_READ = "alerts:read"
    ALERTS_WRITE = "alerts:write"
    WEBHOOKS_READ = "webhooks:read"
    WEBHOOKS_WRITE = "webhooks:write"
    API_KEYS_READ = "api-keys:read"
    API_KEYS_WRITE = "api-keys:write"
    ANALYTICS_READ = "analytics:read"
    CREDITS_READ = "credits:read"


ALL_SCOPES: frozenset[Scope] = frozenset(Scope)
