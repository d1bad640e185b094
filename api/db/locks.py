"""Names for PostgreSQL's advisory locks, which are bare numbers."""

from enum import IntEnum


class AdvisoryLock(IntEnum):
    """One number for each thing that only one process may do at a time."""

    MIGRATION = 0x706C7401
    CONFIG_RELAY = 0x706C7402
