"""The latest status of each webhook from the delivery stage, in the memory of this process.

Lives on one event loop: only that loop writes and reads it.
"""

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

import msgspec

from api.validation.fields import from_unix_ms_if_any
from api.webhooks.repository import DeliveryHistory, WebhookRow
from common.kafka.compacted import Update
from common.records.deliveries import WebhookStatus


class WebhookStatusCache:
    """The latest status of each webhook."""

    def __init__(self) -> None:
        """Begin empty."""
        self._latest: dict[UUID, WebhookStatus] = {}

    def post(self, updates: Iterable[Update[WebhookStatus]]) -> None:
        """Apply updates in the order of the topic."""
        for webhook_id, status in updates:
            if status is None:
                self._latest.pop(webhook_id, None)
            else:
                self._latest[webhook_id] = status

    def switched_off(self) -> list[WebhookStatus]:
        """Return those that the stage has ever switched off."""
        return [status for status in self._latest.values() if status.disabled_revision is not None]

    def forget_switch_off(self, status: WebhookStatus) -> None:
        """Note that a switch-off is dealt with, until the stage says something new."""
        if self._latest.get(status.webhook_id) is status:
            self._latest[status.webhook_id] = _without_switch_off(status)

    def shown(self, row: WebhookRow) -> WebhookRow:
        """Return a webhook with how its deliveries went."""
        status = self._latest.get(row.id)
        if status is None:
            return row
        is_off = row.config.enabled and status.disabled_revision == row.config.revision
        reason = status.disabled_reason if is_off else row.history.disabled_reason
        return replace(
            row,
            config=msgspec.structs.replace(row.config, enabled=row.config.enabled and not is_off),
            history=DeliveryHistory(
                failure_count=status.given_up_count,
                failed_attempts=status.failure_count,
                last_delivery_at=from_unix_ms_if_any(status.last_delivery_ms),
                last_delivery_status=status.last_delivery_status,
                disabled_reason=reason,
            ),
        )


def _without_switch_off(status: WebhookStatus) -> WebhookStatus:
    return msgspec.structs.replace(
        status, disabled_revision=None, disabled_reason=None, disabled_ms=None
    )
