"""Runs image calls. A call costs credits only if the response is 200."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import structlog
from sqlalchemy.orm import Session

from api.accounts.repository import require_owner
from api.adapters.image_store import ImageStore, ImageStoreFullError
from api.credits import repository as credits_repository
from api.credits.repository import Reservation
from api.db.database import Database
from api.errors import ApiError, ErrorCode, known_code, require_found
from api.limits.owner_limits import OwnerLimit, OwnerLimits
from api.outbox.outbox import enqueue
from api.recognize import repository
from api.recognize.answers import (
    CallPhoto,
    RecognizeAnswer,
    StoredCall,
    outcome_of,
    plate_results,
    processing_time_ms,
    stored_call,
)
from api.recognize.readers import FairReader
from api.recognize.repository import Claim, EarlierCall, IdempotentCall
from api.security.permissions import Principal
from common.errors import InvalidInputError, TransientError
from common.records.topics import OUTCOMES, RECOGNITIONS
from common.timestamps import now_ms
from recognition.workers.pool import TIMEOUT_SECONDS, RecognizerBusyError
from recognition.workers.protocol import ImageReadings

log = structlog.get_logger()

COST_CREDITS = 1
_REASON = "image recognition"
_POLL_SECONDS = 0.1
_LEASE_MARGIN_SECONDS = 5.0


@dataclass(frozen=True)
class ImageCall:
    """An image to read. ``key`` is the Idempotency-Key. If ``store``, recognitions are stored."""

    image: bytes
    store: bool = False
    key: str | None = None

    def idempotent(self) -> IdempotentCall | None:
        """Return the key with a hash of the call, or None without a key."""
        if self.key is None:
            return None
        options = b"store " if self.store else b""
        return IdempotentCall(self.key, hashlib.sha256(options + self.image).digest())


@dataclass(frozen=True)
class _Paid:
    """The reserved credit and the claimed key of a running call."""

    reservation: Reservation
    claim: Claim | None


def image_lease() -> timedelta:
    """Return the time for which a call holds its reservation and key. No call takes longer."""
    # A call waits for a worker and then for the result, in each case at most until the timeout.
    seconds = 2 * TIMEOUT_SECONDS + _LEASE_MARGIN_SECONDS
    return timedelta(seconds=seconds)


class ImageRecognition:
    """Reads images, and charges credits for calls of accounts."""

    def __init__(
        self,
        database: Database,
        reader: FairReader,
        images: ImageStore,
        limits: OwnerLimits,
        *,
        lease: timedelta,
        demo_enabled: bool = False,
    ) -> None:
        """``lease`` is longer than any call takes. Only crashed calls hold a reservation longer."""
        self._database = database
        self._images = images
        self._reader = reader
        self._limits = limits
        self._lease = lease
        self._demo_enabled = demo_enabled

    def require_demo(self) -> None:
        """Check that the demo is enabled.

        Raises:
            ApiError: 404, the demo is disabled.
        """
        require_found(self._demo_enabled)

    def counted_call(self, caller: Principal) -> AbstractContextManager[None]:
        """Return a context that counts a call as running. The block also reads the body.

        Entering the context raises ApiError (429) if the account has too many concurrent calls.
        """
        return self._limits.slot(OwnerLimit.IMAGE_CALLS_AT_ONCE, caller)

    async def recognize(self, owner_id: UUID, call: ImageCall) -> RecognizeAnswer:
        """Return the plates of an image and charge one credit. Charge nothing if an error occurs.

        If an earlier call had the same key and content, its response is returned, and nothing is
        charged or stored.

        Raises:
            ApiError: 400, the image is invalid; 402, no credits are left; 409, the key is in use
                or was used for another call; 500, the image could not be read.
            OwnerNotFoundError: the account has been removed.
        """
        started = time.perf_counter()
        begun = await self._begin(owner_id, call.idempotent())
        if isinstance(begun, RecognizeAnswer):
            return begun
        photo = CallPhoto(self._images)
        async with self._undone_on_error(begun, photo):
            readings = await self.read(call.image, owner_id)
            stored = await _store_call(begun, call, readings, photo)
            photo.may_be_named = True
            return await self._database.run(
                lambda session: self._finish(session, begun, readings, stored, started)
            )

    async def sweep(self) -> int:
        """Delete expired keys, release expired reservations, and return how many were released."""

        def work(session: Session) -> int:
            now = datetime.now(UTC)
            repository.delete_expired(session, now)
            return credits_repository.release_expired(session, now)

        return await self._database.run(work)

    async def _begin(self, owner_id: UUID, call: IdempotentCall | None) -> _Paid | RecognizeAnswer:
        """Reserve a credit, or wait for and return the response of a call with the same key."""
        deadline = time.monotonic() + self._lease.total_seconds()
        while True:
            found = await self._database.run(lambda session: self._reserve(session, owner_id, call))
            if isinstance(found, _Paid):
                return found
            assert call is not None
            if found.fingerprint != call.fingerprint:
                raise ApiError(ErrorCode.IDEMPOTENCY_KEY_REUSED)
            if found.answer is not None:
                return RecognizeAnswer.model_validate_json(found.answer)
            if time.monotonic() > deadline:
                raise ApiError(ErrorCode.IDEMPOTENCY_KEY_IN_USE)
            await asyncio.sleep(_POLL_SECONDS)

    def _reserve(
        self, session: Session, owner_id: UUID, call: IdempotentCall | None
    ) -> _Paid | EarlierCall:
        now = datetime.now(UTC)
        claimed: Claim | None = None
        if call is not None:
            found = repository.claim(session, owner_id, call, now, self._lease)
            if isinstance(found, EarlierCall):
                return found
            claimed = found
        reservation = credits_repository.reserve(session, owner_id, COST_CREDITS, now + self._lease)
        if reservation is None:
            # Either error also rolls back the claim.
            require_owner(session, owner_id)
            raise ApiError(ErrorCode.INSUFFICIENT_CREDITS)
        return _Paid(reservation, claimed)

    async def read(self, image: bytes, payer: UUID | None) -> ImageReadings:
        """Return the plates of an image. ``payer`` is used to schedule calls, and is not charged.

        Raises:
            ApiError: 400, the image is invalid; 500, the image could not be read.
        """
        try:
            return await self._reader.read_image(image, payer)
        except InvalidInputError as error:
            raise _refused(error) from error
        except RecognizerBusyError as error:
            raise ApiError(ErrorCode.RECOGNIZER_BUSY) from error
        except TransientError as error:
            raise ApiError(ErrorCode.RECOGNIZER_TIMEOUT) from error

    def _finish(
        self,
        session: Session,
        paid: _Paid,
        readings: ImageReadings,
        stored: StoredCall | None,
        started: float,
    ) -> RecognizeAnswer:
        """Charge the credit, store the response and publish the outcome, in one transaction."""
        balance = credits_repository.settle(session, paid.reservation, _REASON)
        if balance is None:
            # The call was so slow that the sweeper released the credit, or the account was removed.
            require_owner(session, paid.reservation.owner_id)
            raise ApiError(ErrorCode.RECOGNIZER_TIMEOUT)
        answer = RecognizeAnswer(
            plates=plate_results(readings),
            processing_time_ms=processing_time_ms(started),
            image_width=readings.width_px,
            image_height=readings.height_px,
            credits_remaining=balance,
        )
        for recognition in () if stored is None else stored.recognitions:
            enqueue(session, RECOGNITIONS, str(recognition.owner_id), recognition)
        held = paid.reservation
        outcome = outcome_of(held.owner_id, held.id, readings, now_ms())
        enqueue(session, OUTCOMES, str(held.owner_id), outcome)
        if paid.claim is not None:
            data = answer.model_dump_json().encode()
            repository.store_answer(session, paid.claim, data, datetime.now(UTC))
        return answer

    @asynccontextmanager
    async def _undone_on_error(self, paid: _Paid, photo: CallPhoto) -> AsyncIterator[None]:
        try:
            yield
        except BaseException as error:
            # These errors are raised before the commit and roll back the transaction. Any other
            # error can occur after a commit.
            is_rolled_back = isinstance(error, (ApiError, InvalidInputError))
            is_unnamed = is_rolled_back or not photo.may_be_named
            # The undo is shielded, so that a cancelled caller does not interrupt it.
            await asyncio.shield(self._undo(paid, photo, is_unnamed=is_unnamed))
            raise

    async def _undo(self, paid: _Paid, photo: CallPhoto, *, is_unnamed: bool) -> None:
        """Release a call's reservation and key, and delete its photo if no record refers to it.

        No record refers to the photo if ``is_unnamed`` or the reservation was still held, because
        publishing settles the reservation. If the database is down, the sweeper releases the
        reservation later, and the photo stays until its retention ends or the account is removed.
        """
        try:
            was_held = await self._database.run(lambda session: _release(session, paid))
        except TransientError as error:
            log.warning("credit_release_failed", error=str(error))
            was_held = False
        if is_unnamed or was_held:
            await photo.remove()


async def _store_call(
    paid: _Paid, call: ImageCall, readings: ImageReadings, photo: CallPhoto
) -> StoredCall | None:
    """Store the photo and return the call's data, or None if there is nothing to store."""
    if not call.store:
        return None
    held = paid.reservation
    stored = stored_call(held.owner_id, held.id, call.image, readings, now_ms())
    if stored is not None:
        # Store the photo before the records, so that the records always have a valid key.
        try:
            await photo.put(stored.photo_key, call.image, stored.content_type)
        except ImageStoreFullError:
            return stored.without_photo()
    return stored


def _release(session: Session, paid: _Paid) -> bool:
    was_held = credits_repository.release(session, paid.reservation)
    if paid.claim is not None:
        repository.drop(session, paid.claim)
    return was_held


def _refused(error: InvalidInputError) -> ApiError:
    return ApiError(known_code(error.code) or ErrorCode.UNREADABLE_IMAGE, str(error))
