"""Lists, creates, updates and deletes cameras, and charges credits for cameras."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import structlog
from sqlalchemy.orm import Session

from api.accounts.repository import lock_owner, require_owner
from api.cameras import repository
from api.cameras.repository import (
    CameraRow,
    CameraValues,
    CameraView,
    DuplicateIdentifierError,
)
from api.cameras.schemas import CameraCreate, CameraTest, CameraUpdate
from api.cameras.status_cache import CameraStatusCache, condition_of
from api.cameras.stream_vault import StoredStream, StreamVault, edited_values, new_values
from api.credits import repository as credits_repository
from api.credits.repository import Reservation
from api.db.database import Database
from api.db.tables import Owner
from api.errors import ApiError, ErrorCode, FieldFault, require_found
from api.limits.owner_limits import OwnerLimit, OwnerLimits

log = structlog.get_logger()

_ABANDONED_AFTER_SECONDS = 10.0


@dataclass(frozen=True)
class _NewCamera:
    """A camera that is waiting for an ingest worker, and the credits reserved for the camera."""

    row: CameraRow
    reservation: Reservation | None


class Cameras:
    """Manages cameras. Methods raise ApiError 404 if the camera belongs to another account."""

    def __init__(
        self,
        database: Database,
        statuses: CameraStatusCache,
        vault: StreamVault,
        limits: OwnerLimits,
        now_ms: Callable[[], int],
        *,
        assign_seconds: float,
        stale_seconds: float,
        sample_fps: float,
        price: int,
    ) -> None:
        """``now_ms`` returns the current time (Unix ms).

        An ingest worker must accept a new camera within ``assign_seconds``. A camera without a
        status for ``stale_seconds`` is offline. ``sample_fps`` is the default sampling rate (frames
        per second). ``price`` is the number of credits per camera for 30 days.
        """
        self._limits = limits
        self._database = database
        self._statuses = statuses
        self._vault = vault
        self._assign_seconds = assign_seconds
        self._stale_ms = stale_seconds * 1000
        self._sample_fps = sample_fps
        self._price = price
        self._now_ms = now_ms

    async def list_all(self, owner_id: UUID) -> list[CameraView]:
        """Return an account's cameras, newest first."""
        rows = await self._database.run(lambda session: repository.list_cameras(session, owner_id))
        return [self._view(row) for row in rows]

    async def require(self, owner_id: UUID, camera_id: UUID) -> CameraRow:
        """Return a camera of an account."""
        return require_found(
            await self._database.run(
                lambda session: repository.find_camera(session, owner_id, camera_id)
            )
        )

    async def get(self, owner_id: UUID, camera_id: UUID) -> CameraView:
        """Return a camera of an account, with the current condition."""
        return self._view(await self.require(owner_id, camera_id))

    async def create(self, owner_id: UUID, body: CameraCreate) -> CameraView:
        """Create a camera, and return it once an ingest worker has accepted it.

        Raises:
            ApiError: 400, the stream URL is invalid; 402, the account has too few credits; 409, the
                identifier is in use or a limit is reached; 502, no ingest worker has accepted the
                camera in time, and the camera was not stored.
        """
        values = new_values(body, self._vault)
        new = await self._database.run(lambda session: self._insert(session, owner_id, values))
        row = new.row
        if await self._is_assigned(new):
            return self._view(row)
        await self._database.run(lambda session: _undo(session, owner_id, new))
        log.warning("camera_registration_timed_out", camera_id=str(row.id))
        raise ApiError(ErrorCode.AGENT_UNAVAILABLE)

    async def update(self, owner_id: UUID, camera_id: UUID, body: CameraUpdate) -> CameraView:
        """Update the fields that were sent, and return the camera.

        Raises:
            ApiError: 400, the stream URL is invalid; 402, the account has too few credits to enable
                the camera; 404, the account has no such camera; 409, the identifier is in use or
                the account has reached a limit.
        """
        return self._view(
            await self._database.run(
                lambda session: self._change(session, owner_id, camera_id, body)
            )
        )

    async def delete(self, owner_id: UUID, camera_id: UUID) -> int:
        """Delete a camera, and return the number of refunded credits."""
        return await self._database.run(lambda session: _delete(session, owner_id, camera_id))

    async def address_to_test(self, owner_id: UUID, body: CameraTest) -> str:
        """Check a stream URL, and return it with ``***`` replaced by the stored password.

        Raises:
            ApiError: 400, the URL is invalid; 404, no camera has the ID ``body.camera_id``.
        """
        if body.camera_id is None:
            return self._vault.address(body, None)
        values = (await self.require(owner_id, body.camera_id)).values
        stored = StoredStream(values.stream_url_encrypted, values.stream_url_shown)
        return self._vault.address(body, stored)

    async def sweep(self) -> int:
        """Delete the unconfirmed cameras of calls that crashed, and return their number."""
        before = datetime.now(UTC) - timedelta(seconds=_ABANDONED_AFTER_SECONDS)
        return await self._database.run(
            lambda session: repository.delete_stale_unconfirmed(session, before)
        )

    async def renew(self) -> int:
        """Pay for cameras whose paid period has ended, or disable them. Return their number."""
        if not self._price:
            return 0
        return await self._database.run(lambda session: repository.renew_due(session, self._price))

    def _insert(self, session: Session, owner_id: UUID, values: CameraValues) -> _NewCamera:
        owner = lock_owner(session, owner_id)
        cameras = repository.count_cameras(session, owner_id) + 1
        self._limits.require(OwnerLimit.CAMERAS, owner_id, owner.limits, cameras)
        self._require_frames(session, owner, self._demand(values))
        with _conflicts_as_errors(values):
            row = repository.insert_camera(session, owner_id, values)
        if not self._price:
            return _NewCamera(row, None)
        lease = timedelta(seconds=_ABANDONED_AFTER_SECONDS)
        reservation = repository.reserve_first(session, owner_id, self._price, lease)
        if reservation is None:
            # The error also rolls back the insertion.
            raise _insufficient_credits(self._price)
        return _NewCamera(row, reservation)

    async def _is_assigned(self, new: _NewCamera) -> bool:
        row, seconds = new.row, self._assign_seconds
        if not await self._statuses.wait_until_running(row.id, row.revision, seconds):
            return False
        return await self._database.run(lambda session: _confirm(session, new))

    def _change(
        self, session: Session, owner_id: UUID, camera_id: UUID, body: CameraUpdate
    ) -> CameraRow:
        owner = lock_owner(session, owner_id)
        row = require_found(repository.find_camera(session, owner_id, camera_id, locks=True))
        values = edited_values(row.values, body, self._vault)
        if values == row.values:
            return row
        self._require_frames(session, owner, self._demand(values) - self._demand(row.values))
        self._pay_to_enable(session, row, values)
        with _conflicts_as_errors(values):
            return repository.change_camera(session, camera_id, values)

    def _demand(self, values: CameraValues) -> float:
        """Return a camera's sampling rate (frames per second), or 0 if the camera is disabled."""
        if not values.enabled:
            return 0.0
        return self._sample_fps if values.sample_fps is None else values.sample_fps

    def _require_frames(self, session: Session, owner: Owner, more: float) -> None:
        """Reject ``more`` frames per second above the account's limit. Always allow a reduction."""
        if more > 0:
            total = repository.frames_per_second(session, owner.id, self._sample_fps)
            limit = OwnerLimit.FRAMES_PER_SECOND
            self._limits.require(limit, owner.id, owner.limits, total + more)

    def _pay_to_enable(self, session: Session, row: CameraRow, values: CameraValues) -> None:
        """Pay for a camera that is being enabled after the paid period has ended."""
        price = self._price
        if not price or not values.enabled or row.values.enabled:
            return
        is_paid = row.subscription.is_paid(datetime.now(UTC))
        if not is_paid and not repository.pay(session, row.id, price):
            raise _insufficient_credits(price)

    def _view(self, row: CameraRow) -> CameraView:
        status = self._statuses.latest(row.id)
        now_ms = self._now_ms()
        return CameraView(row, condition_of(row, status, now_ms=now_ms, stale_ms=self._stale_ms))


def _confirm(session: Session, new: _NewCamera) -> bool:
    """Make a camera visible and debit the price. Return False if a sweep has deleted the camera."""
    if not repository.confirm_camera(session, new.row.id):
        return False
    is_paid = new.reservation is None or repository.settle_first(
        session, new.row.id, new.reservation
    )
    if not is_paid:
        # A sweep has released the reservation. The error rolls back the confirmation.
        raise ApiError(ErrorCode.AGENT_UNAVAILABLE)
    return True


def _undo(session: Session, owner_id: UUID, new: _NewCamera) -> None:
    require_owner(session, owner_id)
    repository.delete_unconfirmed_camera(session, new.row.id)
    if new.reservation is not None:
        credits_repository.release(session, new.reservation)


def _delete(session: Session, owner_id: UUID, camera_id: UUID) -> int:
    subscription = require_found(repository.delete_camera(session, owner_id, camera_id))
    return repository.refund_unused(session, owner_id, subscription)


def _insufficient_credits(price: int) -> ApiError:
    return ApiError(
        ErrorCode.INSUFFICIENT_CREDITS,
        f"Insufficient credits: a camera costs {price} credits per 30 days.",
    )


@contextmanager
def _conflicts_as_errors(values: CameraValues) -> Iterator[None]:
    try:
        yield
    except DuplicateIdentifierError as error:
        path = "rtspUrl" if values.identifier_derived else "identifier"
        fault = FieldFault(path, "is already used by another camera")
        raise ApiError(ErrorCode.DUPLICATE_IDENTIFIER, fields=(fault,)) from error
