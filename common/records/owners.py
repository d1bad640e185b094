"""An account, as far as the stages need to know it."""

from uuid import UUID

from common.records.codec import Record


class OwnerConfig(Record, frozen=True, kw_only=True):
    """On config-owners (compacted, key = owner id; an empty value: the account has nothing here).

    ``limits`` are those of the account's own, by name. The encrypted secrets open with
    :class:`common.secrets.SecretBox` and sign notifications to URLs, the previous one until
    ``previous_notification_secret_until_ms`` (Unix ms, UTC).
    """

    owner_id: UUID
    limits: dict[str, int]
    notification_secret_encrypted: str | None = None
    previous_notification_secret_encrypted: str | None = None
    previous_notification_secret_until_ms: int | None = None
