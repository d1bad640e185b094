"""Creates test events for receivers. No I/O."""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from api.alerts.repository import new_alert
from api.alerts.schemas import AlertUpdate
from api.alerts.service import all_fields
from api.db.records import alert_config
from api.db.tables import Owner
from api.validation.fields import from_unix_ms
from common.records.alerts import (
    AlertConfig,
    AlertTrigger,
    EarlyTrigger,
    Notification,
    TriggerPhase,
    by_reference,
)
from common.records.cameras import CameraConfig, CameraState, CameraStatus
from common.records.deliveries import (
    CameraEvent,
    Delivery,
    DeliveryCause,
    WebhookTarget,
    camera_delivery,
    recognition_delivery,
    trigger_delivery,
)
from common.records.frames import Box
from common.records.ids import NIL_UUID, derived_uuid, trigger_id
from common.records.notifications import destinations_of, notification_delivery
from common.records.recognitions import Recognition
from common.records.webhooks import EventName
from common.secrets import SecretBox

_PLATE = "TEST123"
_STREAM = "rtsp://camera.example.com/stream"

_PHASES: Final = {
    EventName.ALERT_TRIGGERED: TriggerPhase.FINAL,
    EventName.ALERT_CONFIRMED: TriggerPhase.CONFIRMED,
    EventName.ALERT_CORRECTED: TriggerPhase.WITHDRAWN,
}


@dataclass(frozen=True)
class SampleEvents:
    """Creates test events for an account."""

    box: SecretBox

    def delivery(
        self, event: EventName, owner_id: UUID, webhook_id: UUID, *, now_ms: int
    ) -> Delivery:
        """Return the delivery of a test event to a webhook, marked as a test."""
        recognition = _recognition(owner_id, now_ms)
        marks = _test_marks(now_ms)
        if event is EventName.RECOGNITION_CREATED:
            return recognition_delivery(recognition, webhook_id, created_ms=now_ms, **marks)
        if event in _PHASES:
            trigger = self._trigger(recognition, now_ms, _PHASES[event])
            target = WebhookTarget(webhook_id=webhook_id)
            return trigger_delivery(trigger, str(webhook_id), target, **marks)
        camera = self._camera(event, owner_id, now_ms)
        return camera_delivery(event, camera, webhook_id, **marks)

    def notifications(
        self, alert: AlertConfig, notification: Notification, *, now_ms: int
    ) -> list[Delivery]:
        """Return test deliveries to an alert's notification, one for each destination."""
        recognition = _recognition(alert.owner_id, now_ms)
        trigger = AlertTrigger(
            id=trigger_id(now_ms, alert.alert_id, recognition.id),
            owner_id=alert.owner_id,
            alert=by_reference(alert),
            recognition=recognition,
            decided_ms=now_ms,
        )
        return [
            notification_delivery(
                trigger, alert, endpoint, destination, self.box, **_test_marks(now_ms)
            )
            for endpoint, destination in destinations_of(alert.owner_id, [notification]).items()
        ]

    def _trigger(self, recognition: Recognition, now_ms: int, phase: TriggerPhase) -> AlertTrigger:
        body = AlertUpdate.model_validate({"name": "Test alert", "plates": [_PLATE]})
        alert = new_alert(
            recognition.owner_id,
            all_fields(body),
            id=NIL_UUID,
            revision=1,
            created_at=from_unix_ms(now_ms),
            notifications_encrypted=self.box.encrypt("[]"),
        )
        config = alert_config(alert, Owner(timezone="UTC"))
        return AlertTrigger(
            id=trigger_id(now_ms, NIL_UUID, recognition.id),
            owner_id=recognition.owner_id,
            alert=config,
            recognition=recognition,
            decided_ms=now_ms,
            phase=phase,
            early=None if phase is TriggerPhase.FINAL else _early(now_ms),
        )

    def _camera(self, event: EventName, owner_id: UUID, now_ms: int) -> CameraEvent:
        is_online = event is EventName.CAMERA_ONLINE
        return CameraEvent(
            camera=CameraConfig(
                camera_id=NIL_UUID,
                owner_id=owner_id,
                name="Test camera",
                stream_url_encrypted=self.box.encrypt(_STREAM),
                enabled=True,
                revision=1,
                identifier="test-camera",
                created_ms=now_ms,
            ),
            status=CameraStatus(
                camera_id=NIL_UUID,
                owner_id=owner_id,
                state=CameraState.ONLINE if is_online else CameraState.OFFLINE,
                revision=1,
                worker="test",
                at_ms=now_ms,
                last_seen_ms=now_ms,
                frame_width_px=1920,
                frame_height_px=1080,
                decoder="software",
            ),
        )


def _early(now_ms: int) -> EarlyTrigger:
    return EarlyTrigger(plate=_PLATE, captured_ms=now_ms, decided_ms=now_ms)


def _test_marks(now_ms: int) -> dict[str, Any]:
    return {"cause": DeliveryCause.TEST, "requested_ms": now_ms}


def _recognition(owner_id: UUID, now_ms: int) -> Recognition:
    return Recognition(
        id=derived_uuid(now_ms, "test", str(owner_id)),
        owner_id=owner_id,
        camera_id=NIL_UUID,
        camera_name="Test camera",
        plate=_PLATE,
        confidence=0.98,
        character_confidences=(0.98,) * len(_PLATE),
        captured_ms=now_ms,
        first_seen_ms=now_ms,
        last_seen_ms=now_ms,
        readings_count=2,
        box=Box(x=860, y=640, width=180, height=44),
    )
