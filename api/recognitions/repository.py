"""Recognitions in ClickHouse."""

from collections.abc import Sequence
from uuid import UUID

from api.recognitions.models import Position, RecognitionQuery
from contracts.errors import TransientError
from contracts.records import Recognition
from contracts.settings import ClickHouseSettings


class ClickHouseStore:
    """Searches the recognitions of all owners."""

    def __init__(self, settings: ClickHouseSettings) -> None:
        """Take the settings; nothing is connected yet."""
        self._settings = settings

    async def page(
        self, query: RecognitionQuery, after: Position | None, limit: int
    ) -> Sequence[Recognition]:
        """Return at most ``limit`` recognitions, newest first, that come after ``after``."""
        raise TransientError("search is not built yet")

    async def find(self, owner_id: UUID, recognition_id: UUID) -> Recognition | None:
        """Return one of the owner's recognitions."""
        raise TransientError("search is not built yet")

    async def ping(self) -> None:
        """Return when the server has answered."""
        raise TransientError("search is not built yet")

    async def close(self) -> None:
        """Close the connections."""
