"""Deliveries that clients ask for, on their way to the stage that makes them."""

from collections.abc import Callable, Sequence

import msgspec
from sqlalchemy.orm import Session

from api.config_log.outbox import enqueue_all
from api.db.engine import Database
from api.errors import ApiError, ErrorCode
from contracts.deliveries import Delivery, DeliveryCause
from contracts.records import decode
from contracts.topics import DELIVERIES


class DeliveryQueue:
    """Sends deliveries by the outbox, so that none is lost once a call is answered."""

    def __init__(self, database: Database, now_ms: Callable[[], int]) -> None:
        """Take the database with the outbox, and the clock."""
        self._database = database
        self._now_ms = now_ms

    def again(self, content: bytes, cause: DeliveryCause) -> Delivery:
        """Return what an encoded delivery is when it is sent once more, with its ids."""
        delivery = decode(Delivery, content)
        return msgspec.structs.replace(delivery, cause=cause, requested_ms=self._now_ms())

    async def send_again(self, content: bytes | None) -> Delivery:
        """Send a delivery once more.

        Raises:
            ApiError: 404 where it is unknown (None) or past retention (empty).
        """
        if not content:
            raise ApiError(ErrorCode.NOT_FOUND)
        delivery = self.again(content, DeliveryCause.REDELIVERY)
        await self.send([delivery])
        return delivery

    async def send(self, deliveries: Sequence[Delivery]) -> None:
        """Send deliveries, in their order for each endpoint."""

        def work(session: Session) -> None:
            keyed = [(delivery.endpoint, delivery) for delivery in deliveries]
            enqueue_all(session, DELIVERIES, keyed)

        await self._database.run(work)
