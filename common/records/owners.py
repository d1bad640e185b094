"""An account, as far as the stages need to know it."""

from uuid import UUID

from common.records.codec import Record


class OwnerConfig(Record, frozen=True, kw_only=True):
    """On config-owners (compacted, key = owner id; an empty value: the installation's limits hold).

    ``limits`` are those of the owner's own, by name.
    """

    owner_id: UUID
    limits: dict[str, int]
