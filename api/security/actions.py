"""What the audit log calls what somebody did; migration 0001 has the names of changed rows."""

from enum import StrEnum


class Action(StrEnum):
    """Acts that change no row, and those whose row tells nothing of them."""

    RECOGNITIONS_SEARCHED = "recognitions.searched"
    RECOGNITIONS_EXPORTED = "recognitions.exported"
    RECOGNITIONS_STREAMED = "recognitions.streamed"
    RECOGNITION_VIEWED = "recognition.viewed"
    PHOTO_VIEWED = "recognition.photo_viewed"
    CORRECTIONS_SEARCHED = "corrections.searched"
    ANALYTICS_VIEWED = "analytics.viewed"
    ALERT_TRIED = "alert.tried"
    ALERT_TRIGGERS_VIEWED = "alert.triggers_viewed"
    CAMERA_TRIED = "camera.tried"
    AUDIT_READ = "audit.read"
    AUDIT_INCOMPLETE = "audit.incomplete"
    PASSWORD_REFUSED = "password.refused"
    PROVIDER_REFUSED = "provider.refused"
    WEBHOOK_TESTED = "webhook.tested"
    DELIVERY_REPEATED = "delivery.repeated"
    EVENTS_REPLAYED = "events.replayed"
    ALERT_TESTED = "alert.tested"
    PLATE_ERASURE_ASKED = "plate.erasure_asked"
    PLATE_ERASED = "plate.erased"
    ACCOUNT_RESTORED = "account.restored"
