"""Record of those parts of an account's configuration that the stages need."""

from uuid import UUID

from common.records.codec import Record


class OwnerConfig(Record, frozen=True, kw_only=True):
    """Record on config-owners (compacted, key = owner ID; an empty value deletes the entry).

    ``limits`` are the account's own limits, by name. The encrypted secrets are decrypted by
    :class:`common.secrets.SecretBox` and sign notifications to URLs. The previous secret is used
    until ``previous_notification_secret_until_ms`` (Unix ms, UTC).
    """

    owner_id: UUID
    limits: dict[str, int]
    notification_secret_encrypted: str | None = None
    previous_notification_secret_encrypted: str | None = None
    previous_notification_secret_until_ms: int | None = None
