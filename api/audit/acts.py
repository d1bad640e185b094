"""Acts for the audit log. Changes of rows are not among them: triggers write their entries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from api.audit.actors import SERVICE, Actor, current_actor


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


@dataclass(frozen=True)
class ActSubject:
    """The thing that an act is about, under the name that it had."""

    kind: str
    id: UUID | None = None
    name: str | None = None


@dataclass(frozen=True)
class Act:
    """Something that somebody did or asked."""

    owner_id: UUID
    action: Action
    actor: Actor
    subject: ActSubject | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    id: UUID = field(default_factory=uuid4)


def act_in_hand(
    owner_id: UUID, action: Action, subject: ActSubject | None = None, **parameters: Any
) -> Act:
    """Return an act of who makes the request in hand; outside of any the service's."""
    return Act(owner_id, action, current_actor() or SERVICE, subject, parameters)
